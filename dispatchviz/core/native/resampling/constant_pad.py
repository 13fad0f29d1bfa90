"""``constant_pad_nd``, ``pad``, circular padding (``aten/src/ATen/native/PadNd.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, suggested
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.tensor import Size, Tensor


def constant_pad_nd(self: Tensor, pad: Size, value: Scalar) -> Tensor:
    """The tensor padded with a number.

    The two lengths of the last dimension come first; negative ones crop. Raise RuntimeError for invalid lengths.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    rank, padded = len(self._size), len(pad) // 2
    if rank < padded:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {rank}dimensions."
        )
    indices = [(dim, 2 * (rank - dim - 1)) for dim in range(rank - padded, rank)]
    sides = [(dim, pad[index], pad[index + 1]) for dim, index in indices]
    inside = self
    for dim, left, right in sides:
        inside = _cropped(inside, dim, -min(left, 0), -min(right, 0))
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
        hole = _cropped(hole, dim, max(left, 0), max(right, 0))
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


def _cropped(tensor: Tensor, dim: int, left: int, right: int) -> Tensor:
    """The tensor without some elements at both ends of a dimension."""
    if left:
        tensor = ops.narrow.call(tensor, dim, left, tensor._size[dim] - left)
    if right:
        tensor = ops.narrow.call(tensor, dim, 0, tensor._size[dim] - right)
    return tensor


# -- padding modes -----------------------------------------------------------------------------------------------------

MODES = ("reflect", "replicate", "circular", "constant")
"""The padding modes, indexed by their numbers (``padding_mode`` of ``aten/src/ATen/native/PadNd.h``)."""

_OPERATORS = {
    "reflect": ("reflection_pad1d", "reflection_pad2d", "reflection_pad3d"),
    "replicate": ("replication_pad1d", "replication_pad2d", "replication_pad3d"),
    "circular": ("_pad_circular",) * 3,
}
"""The operators for one, two and three dimensions."""


def pad_symint(self: Tensor, pad: Size, mode: str, value: float | None) -> Tensor:
    """Pad by a mode's name. Raise NotImplementedError for an unknown mode."""
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return _pad_enum_symint(self, pad, MODES.index(mode), value)


def _pad_enum_symint(self: Tensor, pad: Size, mode: int, value: float | None) -> Tensor:
    """Pad by a mode's number. Raise RuntimeError or NotImplementedError for lengths that do not fit."""
    rank, count = len(self._size), len(pad) // 2
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if count > rank:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {rank}"
        )
    name = MODES[mode]
    if name == "constant":
        return ops.constant_pad_nd.call(self, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{name}" doesn\'t take in value argument')
    if not 1 <= count <= 3 or rank not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {rank}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    padded: Tensor = getattr(ops, _OPERATORS[name][count - 1]).call(self, pad)
    return padded


def _pad_circular_symint(self: Tensor, pad: Size) -> Tensor:
    """The tensor padded with its other end. Raise RuntimeError for padding longer than a dimension."""
    inside = self._size
    count = len(pad) // 2
    first = len(inside) - count
    size = list(inside)
    for i in range(count):
        left, right, dim = pad[2 * i], pad[2 * i + 1], len(inside) - 1 - i
        size[dim] += left + right
        if left > inside[dim] or right > inside[dim]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size[dim] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    out = ops.new_empty.call(self, tuple(size), self._dtype, "strided", self._device, None)
    _copy_middle(self, out, pad)
    for i in range(count):
        _copy_ends(out, size, first + count - 1 - i, *pad[2 * i : 2 * i + 2])
    return out


def _copy_middle(self: Tensor, out: Tensor, pad: Size) -> None:
    """Copy the tensor, without what negative lengths crop, to the middle of ``out``."""
    inner, outer = self, out
    for i in range(len(pad) // 2):
        left, right, dim = pad[2 * i], pad[2 * i + 1], len(self._size) - 1 - i
        outer = ops.slice_Tensor.call(outer, dim, max(left, 0), out._size[dim] - max(right, 0), 1)
        inner = ops.slice_Tensor.call(inner, dim, max(-left, 0), self._size[dim] - max(-right, 0), 1)
    ops.copy_.call(outer, inner, False)


def _copy_ends(out: Tensor, size: list[int], dim: int, left: int, right: int) -> None:
    """Copy the elements at one end to the padding at the other end."""
    length, low, high = size[dim], max(left, 0), max(right, 0)
    ends = ((left, 0, length - low - high), (right, length - high, low))
    for count, target, source in ends:
        if count > 0:
            outer = ops.slice_Tensor.call(out, dim, target, target + count, 1)
            inner = ops.slice_Tensor.call(out, dim, source, source + count, 1)
            ops.copy_.call(outer, inner, False)
