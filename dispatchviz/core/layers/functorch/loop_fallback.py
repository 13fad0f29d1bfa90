"""The vmap fallback: an operator without a batch rule runs in a loop over examples
(``aten/src/ATen/functorch/BatchedFallback.cpp``).

Batched arguments are sliced with ``movedim`` and ``select``, the operator is called boxed on each example, and the
results are stacked. Results must be tensors and must not alias the arguments.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.dispatcher import call_boxed
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.boxed_rules import participates
from dispatchviz.core.layers.functorch.batch_rules.legacy_batching import logical_to_physical
from dispatchviz.core.layers.functorch.batched_tensor import make_batched, maybe_get_batched_impl
from dispatchviz.core.layers.functorch.dynamic_layer import current_layer
from dispatchviz.core.layers.functorch.plumbing import exclude_batched
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread import warning


class Settings:
    """Settings of the process: ``torch._C._functorch._set_vmap_fallback_enabled`` and
    ``_set_vmap_fallback_warning_enabled``.
    """

    enabled = True
    warning_enabled = True


settings = Settings()


def batched_tensor_for_loop_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Run the operator on each example (``batchedTensorForLoopFallback``). Raise RuntimeError for operators that cannot
    be sliced.
    """
    schema = op.schema
    begin = len(stack) - len(schema.arguments)
    if any(r.type != "Tensor" for r in schema.returns) or any("[" in a.type for a in _tensors(schema)):
        raise _no_rule(op, ". We could not generate a fallback.")
    level = current_layer().level
    if not any(participates(value, level) for value in stack[begin:]):
        with exclude_batched():
            call_boxed(op, stack)
        return
    if is_inplace(schema):
        _run_inplace(op, stack, begin)
        return
    if any(value.alias for value in (*schema.arguments, *schema.returns)):
        raise _no_rule(op, "; the fallback path doesn't work on out= or view ops.")
    if not schema.returns:
        raise _no_rule(op, ". The fallback path does not support operations with no returns.")
    _run(op, stack, begin)


def vmap_error_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Raise RuntimeError, since the loop would give other strides (``vmapErrorFallback``)."""
    raise RuntimeError(
        f"Error: {op.name} requires special handling, and does not yet have a batching rule. Feel free to file a "
        "github issue!"
    )


def _tensors(schema: FunctionSchema) -> list[Any]:
    return [schema.arguments[position] for position in schema.tensor_positions]


def _no_rule(op: OperatorEntry, why: str) -> RuntimeError:
    return RuntimeError(f"Batching rule not implemented for {op.name}{why}")


def is_inplace(schema: FunctionSchema) -> bool:
    """Return whether the operator writes only to its first argument and returns it (``isInplaceOp``)."""
    if len(schema.returns) != 1 or not schema.arguments or not schema.arguments[0].is_write:
        return False
    returned = schema.returns[0].alias
    return not any(a.alias for a in schema.arguments[1:]) and returned is not None and "!" in returned


def _warn(op: OperatorEntry) -> None:
    if not settings.enabled:
        raise RuntimeError(f"{op.name} hit the vmap fallback which is currently disabled")
    if settings.warning_enabled:
        warning.issue(
            f"There is a performance drop because we have not yet implemented the batching rule for {op.name}. Please "
            "file us an issue on GitHub so that we can prioritize its implementation."
        )


# -- operators that give new tensors -----------------------------------------------------------------------------------


def _run(op: OperatorEntry, stack: list[Any], begin: int) -> None:
    _warn(op)
    args = stack[begin:]
    batched = _batched_positions(args)
    physical = dict(zip(batched, logical_to_physical([args[i] for i in batched]), strict=True))
    count = _batch_size(op, physical)
    shards: list[list[Tensor]] = []
    for example in range(count):
        inputs = _slices(args, physical, example, exclude=True)
        with exclude_batched():
            call_boxed(op, inputs)
        shards.append(inputs)
    level = current_layer().level
    stack[begin:] = [_stacked([shard[i] for shard in shards], count, level) for i in range(len(op.schema.returns))]


def _stacked(shards: list[Tensor], count: int, level: int) -> Tensor:
    with exclude_batched():
        flat = ops.stack.call(shards, 0)
        return make_batched(ops.view.call(flat, (count, *flat._size[1:])), 0, level)


def _batched_positions(args: list[Any]) -> list[int]:
    """The positions of arguments that are batched, at any level."""
    return [i for i, v in enumerate(args) if isinstance(v, Tensor) and maybe_get_batched_impl(v) is not None]


def _batch_size(op: OperatorEntry, physical: dict[int, Tensor]) -> int:
    count = next(iter(physical.values()))._size[0]
    if count == 0:
        raise _no_rule(op, ". The fallback path does not support vmap over dims of size 0.")
    return count


def _slices(args: list[Any], physical: dict[int, Tensor], example: int, exclude: bool) -> list[Any]:
    """The operator's arguments for one example."""
    found: list[Any] = []
    for position, value in enumerate(args):
        if position not in physical:
            found.append(value)
        elif exclude:
            with exclude_batched():
                found.append(ops.select_int.call(physical[position], 0, example))
        else:
            found.append(ops.select_int.call(physical[position], 0, example))
    return found


# -- operators that write to self --------------------------------------------------------------------------------------


def _run_inplace(op: OperatorEntry, stack: list[Any], begin: int) -> None:
    """Write to each example's slice (``batchedTensorInplaceForLoopFallback``)."""
    _warn(op)
    args = stack[begin:]
    batched = _batched_positions(args)
    _check_levels(op, args, batched)
    physical = dict(zip(batched, logical_to_physical([args[i] for i in batched]), strict=True))
    for example in range(_batch_size(op, physical)):
        call_boxed(op, _slices(args, physical, example, exclude=False))
    stack[begin:] = args[:1]


def _check_levels(op: OperatorEntry, args: list[Any], batched: list[int]) -> None:
    """Raise RuntimeError if another argument is batched at a level at which self is not."""
    own = maybe_get_batched_impl(args[0])
    name = op.schema.name
    for position in batched:
        impl = maybe_get_batched_impl(args[position])
        if impl is not None and (own is None or impl.level != own.level):
            raise RuntimeError(
                f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
                "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not "
                f"being vmapped over at level {impl.level}. Please try to use out-of-place operators instead of "
                f"{name}. If said operator is being called inside the PyTorch framework, please file a bug report "
                "instead."
            )
