"""``roll``, ``rot90``, ``fliplr``, ``flipud``, ``swapaxes``, ``moveaxis``
(``aten/src/ATen/native/TensorTransformations.cpp``, ``TensorShape.cpp``). ``flip`` is in ``split_flip_repeat.py``."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

# -- roll --------------------------------------------------------------------------------------------------------------


def roll(self: Tensor, shifts: Size, dims: Size) -> Tensor:
    """The elements shifted along dimensions, cyclically. Without dimensions the tensor is treated as one vector."""
    if len(dims) != 1 or len(shifts) != 1:
        return _roll_several(self, shifts, dims)
    if not numel(self._size):
        return ops.clone.call(self, "preserve_format")
    if not self._size:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    length = self._size[wrap_dim(dims[0], len(self._size))]
    start = (length - shifts[0]) % length
    tail = ops.narrow.call(self, dims[0], start, length - start)
    head = ops.narrow.call(self, dims[0], 0, start)
    return ops.cat.call([tail, head], dims[0])


def _roll_several(self: Tensor, shifts: Size, dims: Size) -> Tensor:
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        dense = self if self._is_contiguous else ops.contiguous.call(self, "contiguous_format")
        flat = ops.view.call(dense, (numel(self._size),))
        return ops.view.call(ops.roll.call(flat, shifts, (0,)), self._size)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    first = ops.roll.call(self, shifts[:1], dims[:1])
    return ops.roll.call(first, shifts[1:], dims[1:])


# -- rot90 -------------------------------------------------------------------------------------------------------------


def rot90(self: Tensor, k: int, dims: Size) -> Tensor:
    """The tensor rotated by ``k`` * 90 degrees in the plane of two dimensions."""
    _check_plane(len(self._size), dims)
    turns = k % 4
    if turns == 0:
        return ops.clone.call(self, "contiguous_format")
    if turns == 2:
        return ops.flip.call(self, dims)
    flipped = ops.flip.call(self, (dims[1] if turns == 1 else dims[0],))
    return ops.transpose_.call(flipped, dims[0], dims[1])


def _check_plane(rank: int, dims: Size) -> None:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if rank < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {rank}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == rank:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for dim in dims:
        wrap_dim(dim, rank)


# -- flip --------------------------------------------------------------------------------------------------------------


def fliplr(self: Tensor) -> Tensor:
    """The columns in reverse order."""
    if len(self._size) < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return ops.flip.call(self, (1,))


def flipud(self: Tensor) -> Tensor:
    """The rows in reverse order."""
    if not self._size:
        raise RuntimeError("Input must be >= 1-d.")
    return ops.flip.call(self, (0,))


# -- NumPy aliases -----------------------------------------------------------------------------------------------------


def swapaxes(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """An alias of ``transpose``."""
    return ops.transpose_int.call(self, axis0, axis1)


def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """An alias of ``transpose_``."""
    return ops.transpose_.call(self, axis0, axis1)


def swapdims(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """An alias of ``transpose``."""
    return ops.transpose_int.call(self, dim0, dim1)


def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """An alias of ``transpose_``."""
    return ops.transpose_.call(self, dim0, dim1)


def moveaxis_int(self: Tensor, source: int, destination: int) -> Tensor:
    """An alias of ``movedim``."""
    return ops.movedim_intlist.call(self, (source,), (destination,))


def moveaxis_intlist(self: Tensor, source: Size, destination: Size) -> Tensor:
    """An alias of ``movedim``."""
    return ops.movedim_intlist.call(self, source, destination)
