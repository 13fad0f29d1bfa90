"""Indices of grid samples: unnormalization, padding, gathering and scattering, for the double backward of
``grid_sampler`` (``FunctionsManual.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType, float64, int64
from dispatchviz.core.tensor.tensor import Tensor, numel

ZEROS, BORDER, REFLECTION = 0, 1, 2


def to(tensor: Tensor, dtype: DType) -> Tensor:
    """``tensor.to(dtype)``"""
    return ops.to_dtype.call(tensor, dtype, False, False, None)


def minus(number: float, tensor: Tensor) -> Tensor:
    """The result of C++'s ``number - tensor``."""
    filled = ops.empty_like.call(tensor, None, None, None, None, None)
    return ops.sub__Tensor.call(ops.fill__Scalar.call(filled, number), tensor, 1)


def one_minus(tensor: Tensor) -> Tensor:
    """``1 - tensor``"""
    return minus(1.0, tensor)


def floored(tensor: Tensor) -> Tensor:
    """The coordinates rounded down, as whole numbers."""
    return to(ops.floor.call(tensor), int64)


# -- coordinates -------------------------------------------------------------------------------------------------------


def scale(size: int, align_corners: bool) -> float:
    """The number of elements in one unit of the grid."""
    return ((size - 1) if align_corners else size) / 2.0


def unnormalized(grid: Tensor, dim: int, size: int, align_corners: bool) -> Tensor:
    """A coordinate of the grid in elements."""
    coordinate = ops.add_Scalar.call(ops.select_int.call(grid, -1, dim), 1, 1)
    coordinate = ops.mul_Scalar.call(coordinate, scale(size, align_corners))
    return coordinate if align_corners else ops.sub_Scalar.call(coordinate, 0.5, 1)


def padded_coordinates(
    input: Tensor, grid: Tensor, padding_mode: int, align_corners: bool
) -> list[tuple[Tensor, Tensor]]:
    """Each coordinate, x first, moved inside unless the padding is zeros, and its derivative with respect to the
    grid.
    """
    found = []
    for dim in range(grid._size[-1]):
        size = input._size[-1 - dim]
        coordinate = unnormalized(grid, dim, size, align_corners)
        found.append(_padded(coordinate, size, padding_mode, align_corners))
    return found


def _padded(coordinate: Tensor, size: int, padding_mode: int, align_corners: bool) -> tuple[Tensor, Tensor]:
    step = scale(size, align_corners)
    if padding_mode == ZEROS:
        ones = ops.ones_like.call(coordinate, None, None, None, None, None)
        return coordinate, ops.mul_Scalar.call(ones, step)
    if padding_mode == BORDER:
        derivative = _inside(coordinate, size)
        return ops.clamp.call(coordinate, 0, size - 1), ops.mul_Scalar.call(derivative, step)
    if not _bounds(size, align_corners)[1]:
        zeros = _zeros_like(coordinate)
        return zeros, zeros
    coordinate, sign, parity_sign = _reflected(coordinate, size, align_corners)
    inside = _inside(coordinate, size)
    derivative = ops.mul_Tensor.call(ops.mul_Tensor.call(sign, parity_sign), inside)
    return ops.clamp.call(coordinate, 0, size - 1), ops.mul_Scalar.call(derivative, step)


def _zeros_like(tensor: Tensor) -> Tensor:
    return ops.zeros_like.call(tensor, None, None, None, None, None)


def _inside(coordinate: Tensor, size: int) -> Tensor:
    below = ops.lt_Scalar.call(coordinate, float(size - 1))
    return to(ops.bitwise_and_Tensor.call(ops.gt_Scalar.call(coordinate, 0), below), coordinate._dtype)


def _bounds(size: int, align_corners: bool) -> tuple[float, float]:
    """The position of a reflection's first mirror, and the distance of the second one from it."""
    return (0.0, float(size - 1)) if align_corners else (-0.5, float(size))


def _is_even(distance: Tensor, span: float) -> Tensor:
    """A mask that is true if an even number of mirrors is passed."""
    passed = ops.floor.call(ops.div_Scalar.call(distance, span))
    return ops.lt_Scalar.call(ops.fmod_Scalar.call(passed, 2.0), 0.5)


def _reflected(coordinate: Tensor, size: int, align_corners: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The coordinate reflected between the mirrors, and the signs of the direction before and after that."""
    low, span = _bounds(size, align_corners)
    from_low = ops.sub_Scalar.call(coordinate, low, 1)
    distance = ops.abs.call(from_low)
    sign = ops.where_Scalar.call(ops.ge_Scalar.call(from_low, 0), 1.0, -1.0)
    even = _is_even(distance, span)
    parity_sign = ops.where_Scalar.call(even, 1.0, -1.0)
    extra = ops.remainder_Scalar.call(distance, span)
    back = ops.add_Scalar.call(minus(span, extra), low, 1)
    return ops.where_self.call(even, ops.add_Scalar.call(extra, low, 1), back), sign, parity_sign


def _reflected_index(index: Tensor, size: int, align_corners: bool) -> Tensor:
    """The reflected index, in double precision."""
    low, span = _bounds(size, align_corners)
    if not span:
        return _zeros_like(index)
    distance = ops.abs.call(ops.sub_Scalar.call(to(index, float64), low, 1))
    even = _is_even(distance, span)
    extra = ops.fmod_Scalar.call(distance, span)
    seen = ops.add_Scalar.call(ops.where_self.call(even, extra, minus(span, extra)), low, 1)
    return to(ops.clamp.call(ops.round.call(seen), 0, size - 1), int64)


# -- reading and adding ------------------------------------------------------------------------------------------------


class SampleIndices(Struct, frozen=True):
    """Indices of the elements that are read for each sample, in a last dimension."""

    indices: Sequence[Tensor]
    """The indices along x, y, z."""
    padding_mode: int
    mirrors: bool | None = None
    """None if indices need no reflection; else True if corners are aligned."""

    def _index(self, dim: int, size: int) -> Tensor:
        if self.mirrors is not None:
            return _reflected_index(self.indices[dim], size, self.mirrors)
        return ops.clamp.call(self.indices[dim], 0, size - 1)

    def _flat(self, input: Tensor) -> Tensor:
        """Return positions in the flat image, for each channel."""
        rank = len(self.indices)
        sizes = [input._size[-1 - dim] for dim in range(rank)]
        parts = [self._index(dim, size) for dim, size in enumerate(sizes)]
        flat = parts[-1]
        for part, size in zip(reversed(parts[:-1]), reversed(sizes[:-1]), strict=True):
            flat = ops.add_Tensor.call(ops.mul_Scalar.call(flat, size), part, 1)
        flat = ops.reshape.call(flat, (input._size[0], 1, -1))
        return ops.expand.call(flat, (input._size[0], input._size[1], flat._size[2]), False)

    def _masked(self, values: Tensor, input: Tensor) -> Tensor:
        """Return the values, with zeros where the padding is zeros."""
        if self.padding_mode != ZEROS:
            return values
        within = []
        for dim, index in enumerate(self.indices):
            within.append(ops.lt_Scalar.call(index, input._size[-1 - dim]))
            within.append(ops.ge_Scalar.call(index, 0))
        valid = within.pop()
        while within:
            valid = ops.bitwise_and_Tensor.call(valid, within.pop())
        return ops.mul_Tensor.call(values, to(ops.unsqueeze.call(valid, 1), values._dtype))

    def gathered(self, input: Tensor) -> Tensor:
        """Return the elements, of size [N, C, *output size]."""
        flat = self._flat(input)
        image = ops.reshape.call(input, (*input._size[:2], numel(input._size[2:])))
        values = ops.gather.call(image, 2, flat, False)
        values = ops.reshape.call(values, (*input._size[:2], *self.indices[0]._size[1:]))
        return self._masked(values, input)

    def scattered(self, input: Tensor, grad_output: Tensor, weights: Tensor) -> Tensor:
        """Return the image to which the weighted gradients are added."""
        flat = self._flat(input)
        weights = ops.unsqueeze.call(weights, 1)
        values = self._masked(ops.mul_Tensor.call(ops.unsqueeze.call(grad_output, -1), weights), input)
        size = (*input._size[:2], numel(input._size[2:]))
        zeros = ops.zeros.call(size, grad_output._dtype, "strided", grad_output._device, None)
        image = ops.scatter_add.call(zeros, 2, flat, ops.reshape.call(values, (*input._size[:2], -1)))
        return ops.reshape.call(image, input._size)
