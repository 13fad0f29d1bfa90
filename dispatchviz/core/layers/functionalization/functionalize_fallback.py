"""The boxed fallback for Functionalize, and its hand-written kernels: ``lift_fresh``, ``_to_copy``, ``resize_``,
``_unsafe_view``.

This module mirrors ``aten/src/ATen/FunctionalizeFallbackKernel.cpp``.

Rule 1: the operator is called again, in full, on the values and with Functionalize excluded. Keys above Functionalize
run a second time unless a guard excludes them.
Rule 2: results are wrapped if an argument was a wrapper, or if there was no tensor at all (factories).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.dispatcher import call_boxed
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functionalization.functional_wrapper import (
    FUNCTIONALIZE,
    create_functional_tensor_with_view_meta,
    from_functional_tensor,
    functional_wrapper,
    is_functional_tensor,
    mutate_view_meta,
    reapply_views,
    reset_storage,
    sync,
    to_functional_tensor,
)
from dispatchviz.core.layers.functionalization.operator_calls import call
from dispatchviz.core.layers.functionalization.view_meta import ViewMeta
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel
from dispatchviz.core.thread.guards import AutoDispatchSkipFunctionalize
from dispatchviz.core.thread.thread_state import thread


def functionalize_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Unwrap the arguments, call the operator and wrap the results. Raise RuntimeError if the schema has any alias
    annotation.
    """
    schema = op.schema
    if any(argument.alias is not None for argument in (*schema.arguments, *schema.returns)):
        raise _has_aliases(schema)
    at = len(stack) - len(schema.arguments)
    given = [value for value in stack[at:] if isinstance(value, Tensor) or _is_tensor_list(value)]
    wrap = not given or any(_any_functional(value) for value in given)
    stack[at:] = map(_value, stack[at:])
    with AutoDispatchSkipFunctionalize():
        call_boxed(op, stack)
    if wrap:
        at = len(stack) - len(schema.returns)
        stack[at:] = map(_wrapped, stack[at:])


def _is_tensor_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(member, Tensor) for member in value)


def _any_functional(value: Any) -> bool:
    members = value if _is_tensor_list(value) else [value]
    return any(isinstance(member, Tensor) and is_functional_tensor(member) for member in members)


def _value(value: Any) -> Any:
    """Return the up-to-date value of a wrapper, or any other value unchanged."""
    if isinstance(value, Tensor):
        sync(value)
        return from_functional_tensor(value, assert_functional=False)
    return [_value(member) for member in value] if _is_tensor_list(value) else value


def _wrapped(value: Any) -> Any:
    if isinstance(value, Tensor):
        return to_functional_tensor(value)
    return [_wrapped(member) for member in value] if _is_tensor_list(value) else value


def _has_aliases(schema: FunctionSchema) -> RuntimeError:
    return RuntimeError(
        f"Found a custom (non-ATen) operator whose output has alias annotations: {schema}. We only support "
        "functionalizing operators whose outputs do not have alias annotations (e.g. 'Tensor(a)' is a Tensor with an "
        "alias annotation whereas 'Tensor' is a Tensor without. The '(a)' is the alias annotation). The alias "
        "annotation specifies that the output Tensor shares storage with an input that has the same annotation. Please "
        "check if (1) the output needs to be an output (if not, don't return it), (2) if the output doesn't share "
        "storage with any inputs, then delete the alias annotation. (3) if the output indeed shares storage with an "
        "input, then add a .clone() before returning it to prevent storage sharing and then delete the alias "
        "annotation. Otherwise, please file an issue on GitHub."
    )


# -- kernels of single operators ---------------------------------------------------------------------------------------


def lift_fresh(ks: int, self: Tensor) -> Tensor:
    """Turn a new tensor into a wrapper."""
    if is_functional_tensor(self):
        return ops.view.call(self, self._size)
    with AutoDispatchSkipFunctionalize():
        result = ops.lift_fresh.call(self)
    return to_functional_tensor(result)


def to_copy(
    ks: int,
    self: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    non_blocking: bool,
    memory_format: str | None,
) -> Tensor:
    """Copy the value. The copy is a plain tensor unless Functionalize is in the thread-local include set."""
    with AutoDispatchSkipFunctionalize():
        result = ops._to_copy.call(_value(self), dtype, layout, device, pin_memory, non_blocking, memory_format)
    return to_functional_tensor(result) if thread.state.included & FUNCTIONALIZE else result


def unsafe_view(ks: int, self: Tensor, size: Size) -> Tensor:
    """Return a view, although the schema does not declare one."""
    value = functional_wrapper(self).value if is_functional_tensor(self) else self
    with AutoDispatchSkipFunctionalize():
        result = ops._unsafe_view.call(value, size)
    if not is_functional_tensor(self):
        return result
    return create_functional_tensor_with_view_meta(result, self, ViewMeta("_unsafe_view", (size,), True))


def resize_(ks: int, self: Tensor, size: Size, memory_format: str | None) -> Tensor:
    """Resize: a larger size creates a new value, a smaller one a view."""
    value = _value(self)
    if not is_functional_tensor(self):
        with AutoDispatchSkipFunctionalize():
            ops.resize_.call(value, size, memory_format)
        return self
    size = tuple(size)
    with AutoDispatchSkipFunctionalize():
        resized: Tensor = call("resize", value, size, memory_format)
    if (self._offset + numel(size)) * self._dtype.itemsize > functional_wrapper(self).storage.nbytes:
        reset_storage(self, resized)
    else:
        mutate_view_meta(self, ViewMeta("as_strided", (size, contiguous_strides(size), None), reapply_views()))
    return self


KERNELS: dict[str, Callable[..., Any]] = {
    "lift_fresh": lift_fresh,
    "_to_copy": to_copy,
    "_unsafe_view": unsafe_view,
    "resize_": resize_,
}
"""Kernels for Functionalize that PyTorch, too, writes by hand."""
