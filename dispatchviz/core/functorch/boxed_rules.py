"""Batch rules for many operators at once: they work on the stack, by the operator's schema.

``boxed_tensor_inputs_batch_rule`` of ``aten/src/ATen/functorch/BatchRulesHelper.h``; the one for reductions is in
``batch_rules_reduce.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.dispatcher import call_boxed
from dispatchviz.core.functorch.batch_rules_helper import (
    maybe_pad_to_logical_rank,
    move_batch_dim_to_front,
    rank_without_batch_dim,
)
from dispatchviz.core.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.functorch.plumbing import Batched, checked_layer, exclude_batched
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.tensor import Tensor


def participates(value: Any, level: int) -> bool:
    """``ivalueParticipatesInCurrentLevel``: a tensor that this level batches."""
    if isinstance(value, (list, tuple)):
        return any(participates(member, level) for member in value)
    return isinstance(value, Tensor) and is_batched_at_level(value, level)


def pointwise(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """``POINTWISE_BOXED``: batch dimensions to the front, ranks padded, the operator once on the physical tensors."""
    begin = len(stack) - len(op.schema.arguments)
    with exclude_batched():
        level = checked_layer("boxed_tensor_inputs_batch_rule").level
        if not any(participates(value, level) for value in stack[begin:]):
            call_boxed(op, stack)
            return
        args = stack[begin:]
        inputs = {i: unwrap_at_level(value, level) for i, value in enumerate(args) if isinstance(value, Tensor)}
        rank = max(rank_without_batch_dim(*batched) for batched in inputs.values())
        for i, batched in inputs.items():
            args[i] = _aligned(batched, rank)
        stack[begin:] = args
        call_boxed(op, stack)
        stack[begin:] = [make_batched(result, 0, level) for result in stack[begin:]]


def _aligned(batched: Batched, rank: int) -> Tensor:
    tensor, bdim = batched
    return maybe_pad_to_logical_rank(move_batch_dim_to_front(tensor, bdim), bdim, rank)
