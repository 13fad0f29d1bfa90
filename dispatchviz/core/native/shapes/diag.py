"""``diag``, ``diagflat``, ``diag_embed.out``, ``fill_diagonal_`` (``aten/src/ATen/native/TensorShape.cpp``,
``TensorTransformations.cpp``, ``Fill.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.views.select_scatter import into_out
from dispatchviz.core.tensor.dtype import can_cast
from dispatchviz.core.tensor.tensor import Tensor, numel


def diag(self: Tensor, diagonal: int) -> Tensor:
    """The matrix with a vector on its diagonal, or the diagonal of a matrix."""
    if _rank(self) == 1:
        return ops.diag_embed.call(self, diagonal, -2, -1)
    return ops.diagonal_copy.call(self, diagonal, 0, 1)


def diag_out(self: Tensor, diagonal: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``diag``."""
    if _rank(self) == 2:
        return ops.diagonal_copy_out.call(self, diagonal, 0, 1, out)
    if not can_cast(self._dtype, out._dtype):
        raise RuntimeError(
            f"diag: result type {self._dtype.legacy} can't be cast to the desired out= type {out._dtype.legacy}"
        )
    return ops.diag_embed_out.call(self, diagonal, -2, -1, out)


def _rank(self: Tensor) -> int:
    if len(self._size) not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {len(self._size)}D")
    return len(self._size)


def diag_embed_out(self: Tensor, offset: int, dim1: int, dim2: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``diag_embed``."""
    return into_out(out, ops.diag_embed.call(self, offset, dim1, dim2))


def diagflat(self: Tensor, offset: int) -> Tensor:
    """The matrix with all elements of self on its diagonal."""
    dense = self if self._is_contiguous else ops.contiguous.call(self, "contiguous_format")
    return ops.diag.call(ops.view.call(dense, (-1,)), offset)


def fill_diagonal_(self: Tensor, fill_value: Scalar, wrap: bool) -> Tensor:
    """Fill the main diagonal with a number, in place. ``wrap``: in a tall matrix it starts again after its end."""
    if len(self._size) < 2:
        raise RuntimeError("dimensions must larger than 1")
    height, width = self._size[:2]
    if len(self._size) > 2 and any(length != height for length in self._size):
        raise RuntimeError("all dimensions of input must be of equal length")
    size, stride = min(height, width), sum(self._stride)
    ops.fill__Scalar.call(ops.as_strided.call(self, (size,), (stride,), self._offset), fill_value)
    if wrap and len(self._size) == 2 and height > width + 1:
        step = width + 1
        rest = (numel(self._size) + step - 1) // step - size
        offset = self._offset + self._stride[0] * step
        ops.fill__Scalar.call(ops.as_strided.call(self, (rest,), (stride,), offset), fill_value)
    return self
