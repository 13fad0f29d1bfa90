"""Boxed batch rules for many operators at once, by the operator's schema.

They are those of ``aten/src/ATen/functorch/BatchRulesHelper.h``. The one for reductions is in
``batch_rules_reduce.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.dispatcher import call_boxed
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    contiguous,
    ensure_has_bdim,
    maybe_pad_to_logical_rank,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import Batched, checked_layer, exclude_batched
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.tensor import Tensor


def participates(value: Any, level: int) -> bool:
    """Return whether a value is a tensor that this level batches (``ivalueParticipatesInCurrentLevel``)."""
    if isinstance(value, (list, tuple)):
        return any(participates(member, level) for member in value)
    return isinstance(value, Tensor) and is_batched_at_level(value, level)


Inputs = dict[int, Batched]
"""The tensors among the arguments, unwrapped, by position."""
Outcome = Callable[[Tensor], Tensor]
"""A function that reshapes a result before its first dimension is hidden again."""


def boxed(prepare: Callable[[Inputs], tuple[dict[int, Tensor], Outcome | None]]) -> Callable[..., None]:
    """Return the rule that runs the operator once, on the tensors that ``prepare`` makes of its inputs."""

    def rule(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
        begin = len(stack) - len(op.schema.arguments)
        with exclude_batched():
            level = checked_layer("boxed_tensor_inputs_batch_rule").level
            if not any(participates(value, level) for value in stack[begin:]):
                call_boxed(op, stack)
                return
            args = enumerate(stack[begin:])
            physical, outcome = prepare({i: unwrap_at_level(v, level) for i, v in args if isinstance(v, Tensor)})
            for position, tensor in physical.items():
                stack[begin + position] = tensor
            call_boxed(op, stack)
            results = stack[begin:] if outcome is None else [outcome(result) for result in stack[begin:]]
            stack[begin:] = [make_batched(result, 0, level) for result in results]

    return rule


def _size(inputs: Inputs) -> int:
    """The batch size."""
    return next(tensor._size[bdim] for tensor, bdim in inputs.values() if bdim is not None)


def _aligned(inputs: Inputs) -> tuple[dict[int, Tensor], None]:
    rank = max(rank_without_batch_dim(*batched) for batched in inputs.values())
    return {
        i: maybe_pad_to_logical_rank(move_batch_dim_to_front(tensor, bdim), bdim, rank)
        for i, (tensor, bdim) in inputs.items()
    }, None


def _in_front(inputs: Inputs) -> tuple[dict[int, Tensor], None]:
    return {i: move_batch_dim_to_front(*batched) for i, batched in inputs.items()}, None


def _as_examples(inputs: Inputs) -> tuple[dict[int, Tensor], Outcome]:
    size = _size(inputs)
    physical = {i: _among_examples(batched, size) for i, batched in inputs.items()}
    return physical, lambda result: reshape_dim_outof(0, size, result)


def _among_examples(batched: Batched, size: int) -> Tensor:
    tensor, bdim = batched
    return reshape_dim_into(bdim or 0, 0, ensure_has_bdim(tensor, bdim is not None, size))


pointwise = boxed(_aligned)
"""The rule ``POINTWISE_BOXED``: batch dimensions in front, ranks padded."""
variadic_bdims = boxed(_in_front)
"""The rule ``VARIADIC_BDIMS_BOXED``: batch dimensions in front."""
existing_bdim_all = boxed(_as_examples)
"""The rule ``EXISTING_BDIM_ALL_BOXED``: all tensors get the batch, which becomes more examples."""


def all_tensors_have_optional_bdim(features: int, made_contiguous: int) -> Callable[..., None]:
    """Return the rule ``ALL_TENSORS_HAVE_OPTIONAL_BDIM_BOXED_CONTIG1``, for examples of ``features`` dimensions.

    The batch becomes the examples' dimension, or more examples if there are several already. The tensor number
    ``made_contiguous`` is made contiguous.
    """

    def prepare(inputs: Inputs) -> tuple[dict[int, Tensor], Outcome | None]:
        size = _size(inputs)
        single = rank_without_batch_dim(*next(iter(inputs.values()))) == features
        physical: dict[int, Tensor] = {}
        for number, (position, (tensor, bdim)) in enumerate(inputs.items()):
            whole = ensure_has_bdim(tensor, bdim is not None, size)
            moved = move_batch_dim_to_front(whole, bdim or 0) if single else reshape_dim_into(bdim or 0, 0, whole)
            physical[position] = contiguous(moved) if number == made_contiguous else moved
        return physical, None if single else lambda result: reshape_dim_outof(0, size, result)

    return boxed(prepare)
