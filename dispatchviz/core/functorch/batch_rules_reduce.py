"""Batch rules of reductions (``BatchRulesReduceOps.cpp``).

``sum`` and ``mean`` over everything become reductions over all dimensions that the user sees; those over named
dimensions are one boxed rule that renumbers the dimensions.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.dispatcher import call_boxed
from dispatchviz.core.dtype import DType
from dispatchviz.core.functorch.batch_rules_helper import (
    move_batch_dim_to_front,
    physical_dim,
    rank_without_batch_dim,
)
from dispatchviz.core.functorch.batched_tensor import make_batched, unwrap_at_level
from dispatchviz.core.functorch.boxed_rules import participates
from dispatchviz.core.functorch.plumbing import Kernel, checked_layer, exclude_batched
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.tensor import Size, Tensor


def sum_decomp(ks: int, self: Tensor, dtype: DType | None) -> Tensor:
    """Over every dimension by number."""
    return ops.sum_dim_IntList.call(self, tuple(range(len(self._size))), False, dtype)


def mean_decomp(ks: int, self: Tensor, dtype: DType | None) -> Tensor:
    """Over every dimension by number."""
    return ops.mean_dim.call(self, tuple(range(len(self._size))), False, dtype)


def reduction(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """``boxed_reduction_batch_rule``, for operators ``(self, dim, keepdim, ...)``."""
    begin = len(stack) - len(op.schema.arguments)
    with exclude_batched():
        level = checked_layer("boxed_reduction_batch_rule").level
        if not any(participates(value, level) for value in stack[begin:]):
            with exclude_batched():
                call_boxed(op, stack)
            return
        args = stack[begin:]
        value, bdim = unwrap_at_level(args[0], level)
        physical = move_batch_dim_to_front(value, bdim)
        rank = rank_without_batch_dim(physical, bdim)
        dims = _named(args[1], rank)
        squeezed = rank == 0 and len(dims) == 1 and dims[0] in (0, -1)
        # a 0-dim tensor may be reduced over dimension 0: each example gets one for it
        wanted = (1,) if squeezed else tuple(physical_dim(physical, True, dim) for dim in dims)
        stack[begin:] = [ops.unsqueeze.call(physical, -1) if squeezed else physical, wanted, *args[2:]]
        call_boxed(op, stack)
        result = stack.pop()
        if squeezed and args[2]:
            result = ops.squeeze_dim.call(result, -1)
        stack.append(make_batched(result, 0, level))


def _named(dims: Size | None, rank: int) -> Size:
    """The dimensions that the user means: none named means all; a 0-dim tensor counts as having one."""
    return tuple(dims) if dims else tuple(range(max(1, rank)))


KERNELS: dict[str, Kernel] = {"sum": sum_decomp, "mean": mean_decomp}
"""Under FuncTorchBatched."""
BOXED = ("sum.dim_IntList", "mean.dim")
"""Operators with the boxed rule."""
