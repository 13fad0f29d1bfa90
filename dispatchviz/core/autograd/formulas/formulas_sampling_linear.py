"""Derivatives of bilinear and trilinear weights, for the double backward of ``grid_sampler``
(``FunctionsManual.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.formulas.formulas_sampling_indices import (
    SampleIndices,
    floored,
    one_minus,
    padded_coordinates,
    to,
)
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor


def select(tensor: Tensor, index: int) -> Tensor:
    """The entry of the last dimension."""
    return ops.select_int.call(tensor, -1, index)


def times(one: Tensor, other: Tensor) -> Tensor:
    """``one * other``"""
    return ops.mul_Tensor.call(one, other)


def over_channels(grad_output: Tensor, values: Tensor) -> Tensor:
    """The sum of the products over the channels."""
    return ops.sum_dim_IntList.call(times(grad_output, values), (1,), False, None)


def _fraction(coordinate: Tensor, whole: Tensor) -> Tensor:
    return ops.sub_Tensor.call(coordinate, to(whole, coordinate._dtype), 1)


def _next(whole: Tensor) -> Tensor:
    return ops.add_Scalar.call(whole, 1, 1)


def _negative(one: Tensor, other: Tensor) -> Tensor:
    return times(ops.neg.call(one), other)


class Linear2d:
    """The four corners around each position."""

    def __init__(self, ggGrid: Tensor, input: Tensor, grid: Tensor, padding_mode: int, align_corners: bool) -> None:
        self.input = input
        self.padding_mode = padding_mode
        (x, self.slope_x), (y, self.slope_y) = padded_coordinates(input, grid, padding_mode, align_corners)
        self.x0, self.y0 = floored(x), floored(y)
        self.tx, self.ty = _fraction(x, self.x0), _fraction(y, self.y0)
        self.ggs = [times(select(ggGrid, 0), self.slope_x), times(select(ggGrid, 1), self.slope_y)]

    def indices(self) -> SampleIndices:
        """Return the indices of the corners, along x first."""
        x0, y0 = self.x0, self.y0
        x1, y1 = _next(x0), _next(y0)
        y = ops.stack.call([y0, y0, y1, y1], -1)
        return SampleIndices([ops.stack.call([x0, x1, x0, x1], -1), y], self.padding_mode)

    def derivatives(self) -> list[Tensor]:
        """Return the derivatives of the corners' weights, along x and along y."""
        tx, ty = self.tx, self.ty
        tx1, ty1 = one_minus(tx), one_minus(ty)
        along_x = ops.stack.call([ops.neg.call(ty1), ty1, ops.neg.call(ty), ty], -1)
        return [along_x, ops.stack.call([ops.neg.call(tx1), ops.neg.call(tx), tx1, tx], -1)]

    def of_grid(self, values: Tensor, grad_output: Tensor) -> Tensor:
        """Return the gradient of the grid, by the mixed second derivative, which is the only one."""
        a, b, c, d = (select(values, index) for index in range(4))
        mixed = ops.add_Tensor.call(ops.sub_Tensor.call(ops.sub_Tensor.call(a, b, 1), c, 1), d, 1)
        total = over_channels(grad_output, mixed)
        ggx, ggy = self.ggs
        along_x = times(times(self.slope_x, ggy), total)
        return ops.stack.call([along_x, times(times(self.slope_y, ggx), total)], -1)


class Linear3d:
    """The eight corners around each position."""

    def __init__(self, ggGrid: Tensor, input: Tensor, grid: Tensor, padding_mode: int, align_corners: bool) -> None:
        self.input = input
        self.padding_mode = padding_mode
        padded = padded_coordinates(input, grid, padding_mode, align_corners)
        self.steps = [derivative for _, derivative in padded]
        self.first = [floored(coordinate) for coordinate, _ in padded]
        self.last = [_next(whole) for whole in self.first]
        self.fractions = [
            _fraction(coordinate, whole) for (coordinate, _), whole in zip(padded, self.first, strict=True)
        ]
        self.ggs = [times(select(ggGrid, dim), step) for dim, step in enumerate(self.steps)]

    def indices(self) -> SampleIndices:
        """Return the indices of the corners, along x first, then y."""
        (x0, y0, z0), (x1, y1, z1) = self.first, self.last
        z = ops.stack.call([z0, z0, z0, z0, z1, z1, z1, z1], -1)
        y = ops.stack.call([y0, y0, y1, y1, y0, y0, y1, y1], -1)
        return SampleIndices([ops.stack.call([x0, x1, x0, x1, x0, x1, x0, x1], -1), y, z], self.padding_mode)

    def derivatives(self) -> list[Tensor]:
        """Return the derivatives of the corners' weights, along x, y and z."""
        tx, ty, tz = self.fractions
        tx1, ty1, tz1 = one_minus(tx), one_minus(ty), one_minus(tz)
        along_x = [f(y, z) for z in (tz1, tz) for y in (ty1, ty) for f in (_negative, times)]
        along_x_stacked = ops.stack.call(along_x, -1)
        along_y = [f(x, z) for z in (tz1, tz) for f in (_negative, times) for x in (tx1, tx)]
        along_y_stacked = ops.stack.call(along_y, -1)
        along_z = [f(x, y) for f in (_negative, times) for y in (ty1, ty) for x in (tx1, tx)]
        return [along_x_stacked, along_y_stacked, ops.stack.call(along_z, -1)]

    def of_grid(self, values: Tensor, grad_output: Tensor) -> Tensor:
        """Return the gradient of the grid, by the three mixed second derivatives."""
        tx, ty, tz = (ops.unsqueeze.call(fraction, 1) for fraction in self.fractions)
        v = [select(values, index) for index in range(8)]
        near, far = _signed(v, (0, 1, 2, 3)), _signed(v, (4, 5, 6, 7))
        xy = times(one_minus(tz), near)
        ops.add__Tensor.call(xy, times(tz, far), 1)
        xz = _between(v, (0, 1, 4, 5), (2, 3, 6, 7), ty)
        yz = _between(v, (0, 2, 4, 6), (1, 3, 5, 7), tx)
        xy, xz, yz = (over_channels(grad_output, mixed) for mixed in (xy, xz, yz))
        x, y, z = self.ggs
        along = (((y, xy), (z, xz)), ((x, xy), (z, yz)), ((x, xz), (y, yz)))
        return ops.stack.call([_grid_gradient(*pairs, step) for pairs, step in zip(along, self.steps, strict=True)], -1)


def _signed(values: Sequence[Tensor], corners: tuple[int, int, int, int]) -> Tensor:
    """a - b - c + d"""
    a, b, c, d = (values[corner] for corner in corners)
    total = ops.sub__Tensor.call(ops.sub_Tensor.call(a, b, 1), c, 1)
    return ops.add__Tensor.call(total, d, 1)


def _between(
    values: Sequence[Tensor], near: tuple[int, int, int, int], far: tuple[int, int, int, int], fraction: Tensor
) -> Tensor:
    first, second = _signed(values, near), _signed(values, far)
    return ops.addcmul_.call(times(one_minus(fraction), first), fraction, second, 1)


def _grid_gradient(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], step: Tensor) -> Tensor:
    total = ops.addcmul_.call(times(*first), *second, 1)
    return ops.mul__Tensor.call(total, step)
