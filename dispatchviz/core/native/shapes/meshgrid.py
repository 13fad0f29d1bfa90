"""``meshgrid``, ``cartesian_prod``, ``combinations``, ``block_diag``, ``diag_embed``, ``tril_indices``
(``TensorShape.cpp``, ``Itertools.cpp``, ``TensorFactories.cpp`` in ``aten/src/ATen/native``)."""

from __future__ import annotations

import itertools
import math
from typing import Any

from dispatchviz.core.call.deterministic_algorithms import filled_if_deterministic
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import result_type
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import DType, bool_, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, empty_strided, numel
from dispatchviz.core.thread.warning import first_time, warn_python

# -- meshgrid ----------------------------------------------------------------------------------------------------------


def meshgrid(tensors: list[Tensor]) -> list[Tensor]:
    """``meshgrid`` with the indexing "ij"."""
    if first_time("meshgrid"):
        warn_python(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            "aten/src/ATen/native/TensorShape.cpp:4215",
        )
    return meshgrid_indexing(tensors, "ij")


def meshgrid_indexing(tensors: list[Tensor], indexing: str) -> list[Tensor]:
    """Each vector along a dimension of its own, expanded to the shape of all; "xy" swaps the first two."""
    _check_vectors(tensors)
    swapped = indexing == "xy" and len(tensors) >= 2
    if indexing not in ("xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    vectors = [tensors[1], tensors[0], *tensors[2:]] if swapped else tensors
    shape = tuple(numel(vector._size) for vector in vectors)
    grids = []
    for index, vector in enumerate(vectors):
        alone = tuple(-1 if dim == index else 1 for dim in range(len(vectors)))
        grids.append(ops.expand.call(ops.view.call(vector, alone), shape, False))
    return [grids[1], grids[0], *grids[2:]] if swapped else grids


def _check_vectors(tensors: list[Tensor]) -> None:
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for one, other in itertools.pairwise(tensors):
        if one._dtype is not other._dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if one._device != other._device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    for tensor in tensors:
        if len(tensor._size) > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor!r}")


def _check_1d(tensor: Tensor) -> None:
    if len(tensor._size) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor._size)}")


def cartesian_prod(tensors: list[Tensor]) -> Tensor:
    """The Cartesian product of the vectors, one combination per row."""
    for tensor in tensors:
        _check_1d(tensor)
    if len(tensors) == 1:
        return tensors[0]
    grids = ops.meshgrid_indexing.call(tensors, "ij")
    return ops.stack.call([ops.flatten_using_ints.call(grid, 0, -1) for grid in grids], 1)


def combinations(self: Tensor, r: int, with_replacement: bool) -> Tensor:
    """All combinations of ``r`` elements in their order, one per row."""
    _check_1d(self)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    mask = _rising(self, r, with_replacement)
    count = numel(self._size)
    rows = math.comb(count + r - 1 if with_replacement else count, r) if count else 0
    return ops.index_Tensor.call(self, [ops.nonzero_static.call(mask, rows, -1)])


def _rising(self: Tensor, dims: int, with_replacement: bool) -> Tensor:
    """A mask of the positions whose indices rise from dimension to dimension (``_triu_mask``)."""
    indices = ops.arange.call(numel(self._size), int64, "strided", self._device, None)
    grids = ops.meshgrid_indexing.call([indices] * dims, "ij")
    mask = ops.full.call(grids[0]._size, True, bool_, "strided", self._device, None)
    compare = ops.le_Tensor.call if with_replacement else ops.lt_Tensor.call
    for one, other in itertools.pairwise(grids):
        mask = ops.mul__Tensor.call(mask, compare(one, other))
    return mask


# -- blocks and diagonals ----------------------------------------------------------------------------------------------


def block_diag(tensors: list[Tensor]) -> Tensor:
    """The matrices along the diagonal, 0 elsewhere; a vector is a row, a 0-dim tensor a 1x1 matrix."""
    if not tensors:
        return ops.empty_memory_format.call((1, 0), None, None, None, None, None)
    _check_blocks(tensors)
    blocks = [_as_matrix(tensor) for tensor in tensors]
    size = (sum(block._size[0] for block in blocks), sum(block._size[1] for block in blocks))
    result = ops.zeros.call(size, result_type(*tensors), "strided", tensors[0]._device, None)
    row = column = 0
    for block in blocks:
        height, width = block._size
        rows = ops.slice_Tensor.call(result, 0, row, row + height, 1)
        ops.copy_.call(ops.slice_Tensor.call(rows, 1, column, column + width, 1), block, False)
        row, column = row + height, column + width
    return result


def _check_blocks(tensors: list[Tensor]) -> None:
    device = tensors[0]._device
    for index, tensor in enumerate(tensors):
        if tensor._device != device:
            raise RuntimeError(
                f"torch.block_diag: input tensors must all be on the same device. Input 0 is on device {device} and "
                f"input {index} is on device {tensor._device}"
            )
        if len(tensor._size) > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {index} has "
                f"{len(tensor._size)} dimensions"
            )


def _as_matrix(tensor: Tensor) -> Tensor:
    if len(tensor._size) == 2:
        return tensor
    return ops.expand.call(tensor, (1, numel(tensor._size)), False)


def diag_embed(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """The last dimension as a diagonal of two dimensions, 0 elsewhere."""
    rank = len(self._size) + 1
    first, second = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = abs(offset) + self._size[-1]
    size = list(self._size[:-1])
    size.insert(min(first, second), length)
    size.insert(max(first, second), length)
    result = ops.zeros.call(tuple(size), self._dtype, "strided", self._device, None)
    ops.copy_.call(ops.diagonal.call(result, offset, first, second), self, False)
    return result


# -- tril_indices, triu_indices ----------------------------------------------------------------------------------------


def tril_indices(
    row: int, col: int, offset: int, dtype: DType | None, layout: str | None, device: Device | None, pin: bool | None
) -> Tensor:
    """The rows and columns of the elements on and below a diagonal."""
    return _triangle("tril", row, col, offset, dtype, device)


def triu_indices(
    row: int, col: int, offset: int, dtype: DType | None, layout: str | None, device: Device | None, pin: bool | None
) -> Tensor:
    """The rows and columns of the elements on and above a diagonal."""
    return _triangle("triu", row, col, offset, dtype, device)


def _triangle(part: str, row: int, col: int, offset: int, dtype: DType | None, device: Device | None) -> Tensor:
    for name, length in (("row", row), ("col", col)):
        if length < 0:
            raise RuntimeError(f"{name} must be non-negative, got{length}")
    device = device or CPU
    xp: Any = array_module(device.type)
    rows, columns = xp.arange(row).reshape(row, 1), xp.arange(col).reshape(1, col)
    inside = columns - rows <= offset if part == "tril" else columns - rows >= offset
    found = xp.stack(xp.nonzero(inside))
    size: Size = (2, int(found.shape[1]))
    result = filled_if_deterministic(empty_strided(size, contiguous_strides(size), dtype or int64, device))
    result._array[...] = found
    return result
