"""Batch rules of ``_new_zeros_with_same_feature_meta``, ``linspace``, ``logspace`` (``BatchRulesFactory.cpp``).

Those of ``zeros_like`` and similar operators are in ``batch_rules_unary.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
)
from dispatchviz.core.layers.functorch.plumbing import Batched, BatchRule, Kernel, plumbed
from dispatchviz.core.native.iterator.scalar import wrapped_scalar_tensor
from dispatchviz.core.tensor.tensor import Tensor


def _has_same_storage_numel(ks: int, self: Tensor, other: Tensor) -> bool:
    """Return True, since a batched tensor has no storage to count."""
    return True


def _new_zeros_with_same_feature_meta(
    self: Tensor, self_bdim: int | None, other: Tensor, other_bdim: int | None, self_num_batch_dims: int
) -> Batched:
    """Return a new tangent (like ``self``) for a base (``other``). The batch dimension goes after those that ``self``
    has already.
    """
    count = self_num_batch_dims
    if other_bdim is None:
        tangent = move_batch_dim_to_front(self, self_bdim)
        return ops._new_zeros_with_same_feature_meta.call(tangent, other, count + 1), 0
    base = move_batch_dim_to_front(other, other_bdim)
    tangent = self if self_bdim is None else ops.movedim_int.call(self, self_bdim, count)
    return ops._new_zeros_with_same_feature_meta.call(tangent, base, count), count


# -- linspace, logspace ------------------------------------------------------------------------------------------------


def spaced(start: Batched, end: Batched, steps: int, base: float | None, *options: Any) -> Batched:
    """Return ``steps`` values at equal distances, or powers of ``base`` (``linspace_logspace_batch_rule_helper``)."""
    size = batch_size(start, end)
    first, last = (ensure_has_bdim(tensor, bdim is not None, size) for tensor, bdim in (start, end))
    first, last = move_batch_dim_to_front(first, start[1]), move_batch_dim_to_front(last, end[1])
    dtype = options[0]
    if steps == 0:
        result = ops.full.call((size, 0), 0, *options)
    elif steps == 1:
        room = ops.new_empty.call(first, (size,), *options)
        result = ops.unsqueeze.call(ops.copy_.call(room, first, False), 1)
    else:
        length = ops.sub_Tensor.call(last, first, 1)
        counted = ops.unsqueeze_.call(ops.arange_start.call(0, steps, *options), 1)
        part = ops.div_Scalar.call(ops.mul_Tensor.call(counted, length), steps - 1)
        result = ops.transpose_int.call(ops.add_Tensor.call(first, part, 1), 0, 1)
    if base is not None:
        result = ops.pow_Scalar.call(base, result)
    if dtype is not None and result._dtype is not dtype:
        result = ops.to_dtype.call(result, dtype, False, False, None)
    return result, 0


def _linspace(of_start: bool, of_end: bool, logarithmic: bool) -> BatchRule:
    """Return the rule for the ends that are tensors. The other end becomes a tensor too."""

    def rule(*args: Any) -> Batched:
        if of_start and of_end:
            start, end, rest = (args[0], args[1]), (args[2], args[3]), args[4:]
        elif of_start:
            start, end, rest = (args[0], args[1]), (wrapped_scalar_tensor(args[2], args[0]._device), None), args[3:]
        else:
            start, end, rest = (wrapped_scalar_tensor(args[0], args[1]._device), None), (args[1], args[2]), args[3:]
        base, options = (rest[1], rest[2:]) if logarithmic else (None, rest[1:])
        return spaced(start, end, rest[0], base, *options)

    return rule


_ENDS = {"Tensor_Tensor": (True, True), "Tensor_Scalar": (True, False), "Scalar_Tensor": (False, True)}

KERNELS: dict[str, Kernel] = {
    **{
        f"{name}.{ends}": plumbed(f"{name}.{ends}", _linspace(*which, logarithmic=name == "logspace"))
        for name in ("linspace", "logspace")
        for ends, which in _ENDS.items()
    },
    "_has_same_storage_numel": _has_same_storage_numel,
    "_new_zeros_with_same_feature_meta": plumbed(
        "_new_zeros_with_same_feature_meta", _new_zeros_with_same_feature_meta
    ),
}
"""Kernels for FuncTorchBatched."""
