"""Padding (``aten/src/ATen/native/PadNd.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.memory_formats import CONTIGUOUS, suggested
from dispatchviz.core.native.scalars import Scalar
from dispatchviz.core.tensor import Size, Tensor


def constant_pad_nd(self: Tensor, pad: Size, value: Scalar) -> Tensor:
    """Padded with a number; the last dimension's two lengths come first, negative ones cut. RuntimeError if wrong."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    rank, padded = len(self._size), len(pad) // 2
    if rank < padded:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {rank}dimensions."
        )
    places = [(dim, 2 * (rank - dim - 1)) for dim in range(rank - padded, rank)]
    sides = [(dim, pad[place], pad[place + 1]) for dim, place in places]
    inside = self
    for dim, left, right in sides:
        inside = _cut(inside, dim, -min(left, 0), -min(right, 0))
    if max(pad, default=0) <= 0:
        return ops.clone.call(inside, None)
    memory_format = suggested(self)
    size = _padded_size(self, sides)
    output = ops.empty_memory_format.call(
        size, self._dtype, "strided", self._device, None, None if memory_format == CONTIGUOUS else memory_format
    )
    ops.fill__Scalar.call(output, value)
    hole = output
    for dim, left, right in sides:
        hole = _cut(hole, dim, max(left, 0), max(right, 0))
    ops.copy_.call(hole, inside, False)
    return output


def _padded_size(self: Tensor, sides: list[tuple[int, int, int]]) -> Size:
    size = list(self._size)
    for dim, left, right in sides:
        size[dim] += left + right
        if size[dim] < 0:
            raise RuntimeError(
                f"The input size {self._size[dim]}, plus negative padding {left} and {right} resulted in a negative "
                f"output size, which is invalid. Check dimension {dim} of your input."
            )
    return tuple(size)


def _cut(tensor: Tensor, dim: int, left: int, right: int) -> Tensor:
    """Without so many elements at both ends."""
    if left:
        tensor = ops.narrow.call(tensor, dim, left, tensor._size[dim] - left)
    if right:
        tensor = ops.narrow.call(tensor, dim, 0, tensor._size[dim] - right)
    return tensor
