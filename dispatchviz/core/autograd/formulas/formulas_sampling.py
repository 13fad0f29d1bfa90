"""Double backward of ``grid_sampler_2d``, ``grid_sampler_3d`` (``FunctionsManual.cpp``).

The values that the first gradient reads are gathered into a last dimension, one entry per corner. The values that it
adds are scattered from there. Operators are called in PyTorch's order; C++ evaluates the arguments of a call from right
to left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.autograd.formulas.formulas_sampling_cubic import Cubic
from dispatchviz.core.autograd.formulas.formulas_sampling_linear import Linear2d, Linear3d
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor

Optional = Tensor | None
Three = tuple[Optional, Optional, Optional]

NEAREST, BICUBIC = 1, 2


def grid_sampler_2d_double_backward(
    ggI: Optional,
    ggGrid: Optional,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> Three:
    """The requested gradients of grad_output, input and grid. The nearest neighbor does not depend on the grid."""
    how = interpolation_mode, padding_mode, align_corners
    sampler = ops.grid_sampler_2d.call, ops.grid_sampler_2d_backward.call
    d_output, d_grid = _through_input(sampler, ggI, grad_output, grid, how, output_mask)
    if ggGrid is None or interpolation_mode == NEAREST:
        return d_output, None, d_grid
    taps: Linear2d | Cubic = Linear2d(ggGrid, input, grid, padding_mode, align_corners)
    if interpolation_mode == BICUBIC:
        taps = Cubic(ggGrid, input, grid, padding_mode, align_corners)
    return _through_grid(taps, grad_output, output_mask, d_output, d_grid)


def grid_sampler_3d_double_backward(
    ggI: Optional,
    ggGrid: Optional,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> Three:
    """The requested gradients, for three coordinates."""
    how = interpolation_mode, padding_mode, align_corners
    sampler = ops.grid_sampler_3d.call, ops.grid_sampler_3d_backward.call
    d_output, d_grid = _through_input(sampler, ggI, grad_output, grid, how, output_mask)
    if ggGrid is None or interpolation_mode == NEAREST:
        return d_output, None, d_grid
    taps = Linear3d(ggGrid, input, grid, padding_mode, align_corners)
    return _through_grid(taps, grad_output, output_mask, d_output, d_grid)


def _through_input(
    sampler: tuple[Callable[..., Any], Callable[..., Any]],
    ggI: Optional,
    grad_output: Tensor,
    grid: Tensor,
    how: tuple[int, int, bool],
    output_mask: Sequence[bool],
) -> tuple[Optional, Optional]:
    """The gradients of grad_output and of the grid through ggI."""
    sample, backward = sampler
    d_output = d_grid = None
    if ggI is not None and output_mask[0]:
        d_output = sample(ggI, grid, *how)
    if ggI is not None and output_mask[2]:
        d_grid = backward(grad_output, ggI, grid, *how, (False, True))[1]
    return d_output, d_grid


def _through_grid(
    taps: Linear2d | Linear3d | Cubic,
    grad_output: Tensor,
    output_mask: Sequence[bool],
    d_output: Optional,
    d_grid: Optional,
) -> Three:
    """The gradients through ggI plus those through ggGrid."""
    indices = taps.indices()
    values = indices.gathered(taps.input)
    derivatives = taps.derivatives() if output_mask[0] or output_mask[1] else []
    d_input = None
    if output_mask[0]:
        moved = _along(values, derivatives, taps.ggs)
        d_output = moved if d_output is None else ops.add_Tensor.call(d_output, moved, 1)
    if output_mask[1]:
        d_input = indices.scattered(taps.input, grad_output, _weights(derivatives, taps.ggs))
    if output_mask[2]:
        moved = taps.of_grid(values, grad_output)
        d_grid = moved if d_grid is None else ops.add_Tensor.call(d_grid, moved, 1)
    return d_output, d_input, d_grid


def _along(values: Tensor, derivatives: Sequence[Tensor], ggs: Sequence[Tensor]) -> Tensor:
    """The change of the samples when the grid moves by ``ggs``."""
    changes = []
    for derivative in derivatives:
        product = ops.mul_Tensor.call(values, ops.unsqueeze.call(derivative, 1))
        changes.append(ops.sum_dim_IntList.call(product, (-1,), False, None))
    total = ops.mul_Tensor.call(changes[0], ops.unsqueeze.call(ggs[0], 1))
    for change, gg in zip(changes[1:], ggs[1:], strict=True):
        ops.addcmul_.call(total, change, ops.unsqueeze.call(gg, 1), 1)
    return total


def _weights(derivatives: Sequence[Tensor], ggs: Sequence[Tensor]) -> Tensor:
    """The change of the weights of the corners when the grid moves by ``ggs``."""
    total = ops.mul_Tensor.call(ops.unsqueeze.call(ggs[0], -1), derivatives[0])
    for derivative, gg in zip(derivatives[1:], ggs[1:], strict=True):
        ops.addcmul_.call(total, ops.unsqueeze.call(gg, -1), derivative, 1)
    return total
