"""Batch rules of pooling (``BatchRulesPooling.cpp``): the batch goes to dimension 0, or becomes more examples."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.dispatcher import call_boxed
from dispatchviz.core.functorch.batch_rules_helper import (
    contiguous,
    ensure_has_bdim,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.functorch.batched_tensor import make_batched, unwrap_at_level
from dispatchviz.core.functorch.boxed_rules import participates
from dispatchviz.core.functorch.dynamic_layer import current_layer
from dispatchviz.core.functorch.plumbing import Batched, Kernel, exclude_batched, plumbed
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.tensor import Tensor

_FEATURES = 3
"""Channels, height and width."""


def max_pool2d_with_indices(self: Tensor, bdim: int, *how: Any) -> tuple[Tensor, int, Tensor, int]:
    """Three dimensions become four; of five the first two become one."""
    if rank_without_batch_dim(self, bdim) == _FEATURES:
        values, indices = ops.max_pool2d_with_indices.call(move_batch_dim_to_front(self, bdim), *how)
        return values, 0, indices, 0
    values, indices = ops.max_pool2d_with_indices.call(reshape_dim_into(bdim, 0, self), *how)
    size = self._size[bdim]
    return reshape_dim_outof(0, size, values), 0, reshape_dim_outof(0, size, indices), 0


def max_pool2d_with_indices_backward(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """``boxed_all_tensors_have_optional_bdim``: all tensors get the batch; the third one is made contiguous."""
    begin = len(stack) - len(op.schema.arguments)
    with exclude_batched():
        level = current_layer().level
        if not any(participates(value, level) for value in stack[begin:]):
            call_boxed(op, stack)
            return
        inputs = {i: unwrap_at_level(v, level) for i, v in enumerate(stack[begin:]) if isinstance(v, Tensor)}
        size = next(tensor._size[bdim] for tensor, bdim in inputs.values() if bdim is not None)
        single = rank_without_batch_dim(*next(iter(inputs.values()))) == _FEATURES
        for number, (place, batched) in enumerate(inputs.items()):
            physical = _with_batch(batched, size, single)
            stack[begin + place] = contiguous(physical) if number == _CONTIGUOUS else physical
        call_boxed(op, stack)
        result = stack.pop()
        stack.append(make_batched(result if single else reshape_dim_outof(0, size, result), 0, level))


_CONTIGUOUS = 2
"""The indices are the third tensor."""


def _with_batch(batched: Batched, size: int, single: bool) -> Tensor:
    tensor, bdim = batched
    whole = ensure_has_bdim(tensor, bdim is not None, size)
    return move_batch_dim_to_front(whole, bdim or 0) if single else reshape_dim_into(bdim or 0, 0, whole)


KERNELS: dict[str, Kernel] = {"max_pool2d_with_indices": plumbed("max_pool2d_with_indices", max_pool2d_with_indices)}
"""Under FuncTorchBatched."""
BOXED = {"max_pool2d_with_indices_backward": max_pool2d_with_indices_backward}
"""Boxed ones there."""
