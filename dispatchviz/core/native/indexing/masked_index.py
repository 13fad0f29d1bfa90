"""``_unsafe_masked_index`` and ``_unsafe_masked_index_put_accumulate``
(``aten/src/ATen/native/TensorAdvancedIndexing.cpp``). Indices may be out of range where the mask is false.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.dtype import int32, int64
from dispatchviz.core.tensor.tensor import Tensor, numel

Indices = list[Tensor | None]


def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: Indices, fill: Scalar) -> Tensor:
    """The elements at the indices where the mask is true, ``fill`` elsewhere.

    Raise RuntimeError unless indices are int64 or int32.
    """
    if not numel(self._size):
        size = [0] * len(self._size)
        for dim, index in enumerate(indices):
            size[dim] = 0 if index is None else numel(index._size)
        return ops.full.call(tuple(size), fill, self._dtype, "strided", self._device, None)
    selected = ops._unsafe_index_Tensor.call(self, _clamped(self, indices))
    return ops.masked_fill_Scalar.call(selected, ops.logical_not.call(mask), fill)


def _unsafe_masked_index_put_accumulate(self: Tensor, mask: Tensor, indices: Indices, values: Tensor) -> Tensor:
    """A copy with the values added at the indices where the mask is true."""
    if not numel(self._size):
        return ops.clone.call(self, None)
    clamped = _clamped(self, indices)
    counted = ops.masked_fill_Scalar.call(values, ops.logical_not.call(mask), 0)
    return ops._unsafe_index_put.call(self, clamped, counted, True)


def _clamped(self: Tensor, indices: Indices) -> Indices:
    found: Indices = []
    for index, size in zip(indices, self._size, strict=False):
        if index is not None and index._dtype not in (int64, int32):
            raise RuntimeError(f"_unsafe_masked_index found unexpected index type {index._dtype.legacy}")
        found.append(None if index is None else ops.clamp.call(index, -size, size - 1))
    return found
