"""Grid sampling of arrays: the indices and weights of the taps of each sample (``aten/src/ATen/native/GridSampler.h``,
``cpu/GridSamplerKernel.cpp``).

Rule: along each dimension a sample is a weighted sum of a few elements, its taps: the nearest one, the two neighbors,
or four for cubic interpolation. A sample of an image is the sum over all pairs of taps, one of each dimension; a sample
of a volume is the sum over all triples. Coordinates from -1 to 1 span the input between the centers of the outermost
elements (``align_corners``) or their edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
CUBIC = -0.75
"""The constant of the cubic convolution."""


class Tap(NamedTuple):
    """One of the taps along a dimension, for every sample."""

    index: Any
    weight: Any
    derivative: Any
    """The derivative of the weight with respect to the sample's coordinate."""


class Taps(NamedTuple):
    """The taps along one dimension."""

    taps: list[Tap]
    scale: Any
    """The change of the sample's coordinate per unit of the grid's coordinate; 0 where padding clips it."""


def taps(xp: Any, coordinate: Any, size: int, mode: tuple[int, int, bool], dims: int) -> Taps:
    """The taps of one dimension; ``mode`` is interpolation, padding, align_corners."""
    interpolation, padding, corners = mode
    position = _unnormalized(coordinate, size, corners, dims)
    scale = xp.full(position.shape, (size - 1) / 2 if corners else size / 2, position.dtype)
    if interpolation == BICUBIC:
        return Taps(_cubic_taps(xp, position, size, padding, corners), scale)
    position, factor = _padded(xp, position, size, padding, corners)
    if dims == 3:
        position = xp.where(xp.isfinite(position), position, position.dtype.type(-100))
    if interpolation == NEAREST:
        return Taps([Tap(_to_indices(xp, xp.rint(position)), xp.ones_like(position), xp.zeros_like(position))], scale)
    low = xp.floor(position)
    after, one, first = position - low, xp.ones_like(position), _to_indices(xp, low)
    return Taps([Tap(first, 1 - after, -one), Tap(first + 1, after, one)], scale * factor)


def _unnormalized(coordinate: Any, size: int, corners: bool, dims: int) -> Any:
    """The coordinate in elements. Volumes are rounded at other steps than images."""
    kind = coordinate.dtype.type
    if dims == 3:
        if corners:
            return (coordinate + kind(1)) / kind(2) * kind(size - 1)
        return ((coordinate + kind(1)) * kind(size) - kind(1)) / kind(2)
    if corners:
        return (coordinate + kind(1)) * kind((size - 1) / 2)
    return (coordinate + kind(1)) * kind(size / 2) - kind(0.5)


def _padded(xp: Any, coordinate: Any, size: int, padding: int, corners: bool) -> tuple[Any, Any]:
    """The coordinate after padding, and the factor of its derivative."""
    factor = xp.ones_like(coordinate)
    if padding == ZEROS:
        return coordinate, factor
    if padding == REFLECTION:
        coordinate, factor = _reflected(xp, coordinate, size, corners)
    held = xp.fmin(xp.fmax(coordinate, coordinate.dtype.type(0)), coordinate.dtype.type(size - 1))
    return held, xp.where((held == 0) | (held == size - 1), factor.dtype.type(0), factor)


def _reflected(xp: Any, coordinate: Any, size: int, corners: bool) -> tuple[Any, Any]:
    if corners and size <= 1:
        return xp.zeros_like(coordinate), xp.zeros_like(coordinate)
    low, twice = (0.0, 2.0 * (size - 1)) if corners else (-0.5, 2.0 * size)
    kind = coordinate.dtype.type
    beyond = coordinate - kind(low)
    extra = xp.abs(beyond) - xp.trunc(xp.abs(beyond) / kind(twice)) * kind(twice)
    back = kind(twice) - extra
    is_reversed = (extra > back) ^ (beyond < 0)
    return xp.minimum(extra, back) + kind(low), xp.where(is_reversed, kind(-1), kind(1))


def _cubic_taps(xp: Any, coordinate: Any, size: int, padding: int, corners: bool) -> list[Tap]:
    """The four taps of cubic interpolation. Padding is applied to each of them, not to the sample."""
    low = xp.floor(coordinate)
    t = coordinate - low
    made = []
    for step, (weight, derivative) in zip((-1, 0, 1, 2), _cubic(t), strict=True):
        made.append(Tap(_to_indices(xp, _padded(xp, low + step, size, padding, corners)[0]), weight, derivative))
    return made


def _cubic(t: Any) -> list[tuple[Any, Any]]:
    """The weights, and their derivatives, of the elements at -1, 0, 1 and 2 from the one before the sample."""
    far, near = _outer(2 - t), _inner(1 - t)
    return [_outer(t + 1), _inner(t), (near[0], -near[1]), (far[0], -far[1])]


def _inner(x: Any) -> tuple[Any, Any]:
    """The weight and derivative of an element at a distance of at most 1."""
    two, three, derivative, more = _numbers(x, CUBIC + 2, CUBIC + 3, 3 * (CUBIC + 2), 2 * (CUBIC + 3))
    return (two * x - three) * x * x + 1, (derivative * x - more) * x


def _outer(x: Any) -> tuple[Any, Any]:
    """The weight and derivative of an element at a distance from 1 to 2."""
    one, four, five, eight = _numbers(x, CUBIC, 4 * CUBIC, 5 * CUBIC, 8 * CUBIC)
    derivative, more = _numbers(x, 3 * CUBIC, 10 * CUBIC)
    return ((one * x - five) * x + eight) * x - four, (derivative * x - more) * x + eight


def _numbers(like: Any, *numbers: float) -> list[Any]:
    """The numbers in the dtype of an array; Python's numbers would convert bfloat16 to float32."""
    return [like.dtype.type(number) for number in numbers]


def _to_indices(xp: Any, coordinates: Any) -> Any:
    """Coordinates as integers. Infinite, nan and too large ones are outside."""
    fits = xp.isfinite(coordinates) & (xp.abs(coordinates) < 2**31)
    return xp.where(fits, coordinates, -100).astype("int64")


class Element(NamedTuple):
    """One element of the input for every sample, with its weights."""

    indices: tuple[Any, ...]
    inside: Any
    weights: list[Any]
    derivatives: list[Any]

    @property
    def weight(self) -> Any:
        """The product of the weights of all dimensions, the width's first."""
        return math.prod(self.weights[-2::-1], start=self.weights[-1])


def elements(by_dim: list[Taps], sizes: tuple[int, ...]) -> Iterator[Element]:
    """Yield all combinations of taps; dimensions are in the input's order. Indices outside are 0."""
    for combination in product(*(each.taps for each in by_dim)):
        inside: Any = True
        for tap, size in zip(combination, sizes, strict=True):
            inside = inside & (tap.index >= 0) & (tap.index < size)
        coordinates = tuple(tap.index * inside for tap in combination)
        yield Element(coordinates, inside, [tap.weight for tap in combination], [tap.derivative for tap in combination])
