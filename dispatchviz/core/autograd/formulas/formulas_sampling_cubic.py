"""Derivatives of bicubic weights, for the double backward of ``grid_sampler_2d`` (``FunctionsManual.cpp``)."""

from __future__ import annotations

from dispatchviz.core.autograd.formulas.formulas_sampling_indices import (
    REFLECTION,
    SampleIndices,
    floored,
    minus,
    scale,
    to,
    unnormalized,
)
from dispatchviz.core.autograd.formulas.formulas_sampling_linear import over_channels, select, times
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Tensor

A = -0.75


def _line(t: Tensor, slope: float, less: float) -> Tensor:
    """slope t - less"""
    return ops.sub_Scalar.call(ops.mul_Scalar.call(t, slope), less, 1)


def _far(t: Tensor) -> Tensor:
    """A t^3 - 5 A t^2 + 8 A t - 4 A: the weight at a distance from 1 to 2."""
    found = ops.add_Scalar.call(times(_line(t, A, 5 * A), t), 8 * A, 1)
    return ops.sub_Scalar.call(times(found, t), 4 * A, 1)


def _near(t: Tensor) -> Tensor:
    """(A + 2) t^3 - (A + 3) t^2 + 1: the weight at a distance up to 1."""
    square = ops.square.call(t)
    return ops.add_Scalar.call(times(_line(t, A + 2, A + 3), square), 1, 1)


def _far_derivative(t: Tensor) -> Tensor:
    return ops.add_Scalar.call(times(_line(t, 3 * A, 10 * A), t), 8 * A, 1)


def _falling_far_derivative(t: Tensor) -> Tensor:
    line = ops.add_Scalar.call(ops.mul_Scalar.call(t, -3 * A), 10 * A, 1)
    return ops.sub_Scalar.call(times(line, t), 8 * A, 1)


def _near_derivative(t: Tensor) -> Tensor:
    return times(_line(t, 3 * (A + 2), 2 * (A + 3)), t)


class _Weights:
    """The weights and slopes of four elements along one coordinate, from the one before the position."""

    def __init__(self, t: Tensor) -> None:
        self.distances = ops.add_Scalar.call(t, 1.0, 1), t, minus(1.0, t), minus(2.0, t)

    def make(self) -> None:
        """Compute the weights and their slopes. PyTorch does so once it has the distances of both coordinates."""
        a, b, c, d = self.distances
        self.values = ops.stack.call([_far(a), _near(b), _near(c), _far(d)], -1)
        derivatives = [
            _far_derivative(a),
            _near_derivative(b),
            ops.neg.call(_near_derivative(c)),
            _falling_far_derivative(d),
        ]
        self.derivatives = ops.stack.call(derivatives, -1)

    def second_derivatives(self) -> Tensor:
        """Second derivatives of the weights."""
        a, b, c, d = self.distances
        near = 6 * (A + 2), 2 * (A + 3)
        far = 6 * A, 10 * A
        return ops.stack.call([_line(a, *far), _line(b, *near), _line(c, *near), _line(d, *far)], -1)


class Cubic:
    """The sixteen elements around each position. Padding applies to elements, not to coordinates."""

    def __init__(self, ggGrid: Tensor, input: Tensor, grid: Tensor, padding_mode: int, align_corners: bool) -> None:
        self.input = input
        self.padding_mode, self.align_corners = padding_mode, align_corners
        sizes = input._size[-1], input._size[-2]
        x, y = (unnormalized(grid, dim, size, align_corners) for dim, size in enumerate(sizes))
        self.x0, self.y0 = floored(x), floored(y)
        self.scales = [scale(size, align_corners) for size in sizes]
        self.ggs = [ops.mul_Scalar.call(select(ggGrid, dim), step) for dim, step in enumerate(self.scales)]
        tx = ops.sub_Tensor.call(x, to(self.x0, x._dtype), 1)
        ty = ops.sub_Tensor.call(y, to(self.y0, y._dtype), 1)
        self.x, self.y = _Weights(tx), _Weights(ty)
        self.x.make()
        self.y.make()

    def indices(self) -> SampleIndices:
        """Return the indices of the elements, row by row."""
        around = ops.arange_start.call(-1, 3, int64, "strided", self.input._device, None)
        x = ops.add_Tensor.call(ops.unsqueeze.call(self.x0, -1), around, 1)
        y = ops.add_Tensor.call(ops.unsqueeze.call(self.y0, -1), around, 1)
        size = self.x0._size
        square = (*size, 4, 4)
        x = ops.reshape.call(ops.expand.call(ops.unsqueeze.call(x, -2), square, False), (*size, 16))
        y = ops.reshape.call(ops.expand.call(ops.unsqueeze.call(y, -1), square, False), (*size, 16))
        mirrors = self.align_corners if self.padding_mode == REFLECTION else None
        return SampleIndices([x, y], self.padding_mode, mirrors)

    def derivatives(self) -> list[Tensor]:
        """Return the derivatives of the elements' weights, along x and along y."""
        return [_products(self.y.values, self.x.derivatives), _products(self.y.derivatives, self.x.values)]

    def of_grid(self, values: Tensor, grad_output: Tensor) -> Tensor:
        """Return the gradient of the grid, by all three second derivatives, element by element."""
        xx, xy, yy = self._second(values, grad_output)
        ggx, ggy = self.ggs
        along = []
        for first, second, step in ((xx, xy, self.scales[0]), (xy, yy, self.scales[1])):
            total = ops.addcmul_.call(times(ggx, first), ggy, second, 1)
            along.append(ops.mul__Scalar.call(total, step))
        return ops.stack.call(along, -1)

    def _second(self, values: Tensor, grad_output: Tensor) -> list[Tensor]:
        second_x, second_y = self.x.second_derivatives(), self.y.second_derivatives()
        totals: list[Tensor] = []
        for row in range(4):
            wy, dy, ddy = (select(weights, row) for weights in (self.y.values, self.y.derivatives, second_y))
            for column in range(4):
                seen = over_channels(grad_output, select(values, 4 * row + column))
                pairs = ((second_x, wy), (self.x.values, ddy), (self.x.derivatives, dy))
                found = [times(times(seen, select(weights, column)), other) for weights, other in pairs]
                totals = totals or found
                if totals is not found:
                    for total, more in zip(totals, found, strict=True):
                        ops.add__Tensor.call(total, more, 1)
        xx, yy, xy = totals
        return [xx, xy, yy]


def _products(of_y: Tensor, of_x: Tensor) -> Tensor:
    """The products of each element with each, row by row."""
    right = ops.unsqueeze.call(of_x, -2)
    square = times(ops.unsqueeze.call(of_y, -1), right)
    return ops.reshape.call(square, (*of_y._size[:-1], 16))
