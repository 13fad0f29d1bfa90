"""Batch rules of losses (``BatchRulesLoss.cpp``)."""

from __future__ import annotations

from dispatchviz.core.functorch.batch_rules_helper import move_batch_dim_to_front
from dispatchviz.core.functorch.plumbing import Batched, Kernel, plumbed
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor import Tensor

NONE, MEAN, SUM = range(3)
"""``at::Reduction``"""


def mse_loss(self: Tensor, self_bdim: int | None, target: Tensor, target_bdim: int | None, reduction: int) -> Batched:
    """Each example is flattened and reduced afterwards."""
    first, second = _flat((self, self_bdim)), _flat((target, target_bdim))
    result = ops.mse_loss.call(first, second, NONE)
    if len(result._size) == 1:
        return result, 0
    if reduction == NONE:
        shape = (self, self_bdim) if self_bdim is not None else (target, target_bdim)
        return ops.reshape.call(result, move_batch_dim_to_front(*shape)._size), 0
    if reduction == SUM:
        return ops.sum_dim_IntList.call(result, (-1,), False, None), 0
    return ops.mean_dim.call(result, (-1,), False, None), 0


def _flat(batched: Batched) -> Tensor:
    """``flatten_logical``: all but the batch dimension."""
    tensor, bdim = batched
    if bdim is None:
        return ops.flatten_using_ints.call(tensor, 0, -1)
    moved = move_batch_dim_to_front(tensor, bdim)
    return ops.flatten_using_ints.call(moved, 1, -1) if len(moved._size) > 1 else moved


KERNELS: dict[str, Kernel] = {"mse_loss": plumbed("mse_loss", mse_loss)}
"""Under FuncTorchBatched."""
