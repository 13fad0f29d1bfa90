"""Batch rules of what forward AD makes its tangents with (``BatchRulesFactory.cpp``).

``zeros_like`` and its like are in ``batch_rules_unary.py``.
"""

from __future__ import annotations

from dispatchviz.core.functorch.batch_rules_helper import move_batch_dim_to_front
from dispatchviz.core.functorch.plumbing import Batched, Kernel, plumbed
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor import Tensor


def _has_same_storage_numel(ks: int, self: Tensor, other: Tensor) -> bool:
    """Always: a batched tensor has no storage to count."""
    return True


def _new_zeros_with_same_feature_meta(
    self: Tensor, self_bdim: int | None, other: Tensor, other_bdim: int | None, self_num_batch_dims: int
) -> Batched:
    """A new tangent (like self) for a base (other): the batch dimension goes behind those that self has already."""
    count = self_num_batch_dims
    if other_bdim is None:
        tangent = move_batch_dim_to_front(self, self_bdim)
        return ops._new_zeros_with_same_feature_meta.call(tangent, other, count + 1), 0
    base = move_batch_dim_to_front(other, other_bdim)
    tangent = self if self_bdim is None else ops.movedim_int.call(self, self_bdim, count)
    return ops._new_zeros_with_same_feature_meta.call(tangent, base, count), count


KERNELS: dict[str, Kernel] = {
    "_has_same_storage_numel": _has_same_storage_numel,
    "_new_zeros_with_same_feature_meta": plumbed(
        "_new_zeros_with_same_feature_meta", _new_zeros_with_same_feature_meta
    ),
}
"""Under FuncTorchBatched."""
