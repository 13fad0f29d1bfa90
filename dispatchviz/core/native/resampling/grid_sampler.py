"""``grid_sampler_2d``, ``grid_sampler_3d``, ``affine_grid_generator`` and their backward passes
(``aten/src/ATen/native/GridSampler.cpp``, ``AffineGridGenerator.cpp``).

An input is (N, C, height, width) or (N, C, depth, height, width). The last dimension of a grid holds coordinates, width
first. Every step is rounded to the input's dtype, also in half precision.

NB: on CUDA, PyTorch's ``grid_sampler`` calls cuDNN's operator where possible (bilinear, zeros, corners aligned).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet, store
from dispatchviz.core.native.resampling.grid_sampler_sums import Mode, grid_gradient, input_gradient, sampled, samples
from dispatchviz.core.native.resampling.grid_sampler_taps import BICUBIC, NEAREST
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

# -- grid_sampler ------------------------------------------------------------------------------------------------------


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Sample images if the input has four dimensions, else volumes."""
    operator = ops.grid_sampler_2d if len(input._size) == 4 else ops.grid_sampler_3d
    return operator.call(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Sample images."""
    _check(input, grid, 2, interpolation_mode)
    output = _empty((*input._size[:2], *grid._size[1:3]), input)
    if numel(output._size):
        _check_dtypes(input, grid, "grid_sampler_2d_cpu_kernel_impl")
        store(output, quiet.run(_sampled, input, grid, (interpolation_mode, padding_mode, align_corners)))
    return output


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Sample volumes."""
    _check(input, grid, 3, interpolation_mode)
    _check_dtypes(input, input, "grid_sampler3d_cpu")
    output = _empty((*input._size[:2], *grid._size[1:4]), input)
    _check_dtypes(input, grid, "grid_sampler3d_cpu")
    if numel(output._size):
        store(output, quiet.run(_sampled, input, grid, (interpolation_mode, padding_mode, align_corners)))
    return output


def _empty(size: Size, like: Tensor) -> Tensor:
    return ops.empty_memory_format.call(size, like._dtype, "strided", like._device, None, None)


def _check(input: Tensor, grid: Tensor, dims: int, interpolation_mode: int) -> None:
    """Raise RuntimeError for shapes and devices that do not fit."""
    sizes = f"input with sizes {list(input._size)} and grid with sizes {list(grid._size)}"
    rank = len(input._size)
    if input._device != grid._device:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to be on same device, but input is on {input._device} and grid "
            f"is on {grid._device}"
        )
    if input._size[0] != grid._size[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    if grid._size[-1] != rank - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {rank - 2} in last dimension, but got grid with sizes "
            f"{list(grid._size)}"
        )
    for dim, length in enumerate(input._size[2:], 2):
        if not length:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input._size)} with dimension {dim} being empty"
            )
    if not rank == len(grid._size) == dims + 2:
        raise RuntimeError(
            f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, but got {sizes}"
        )
    if dims == 3 and interpolation_mode == BICUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def _check_dtypes(input: Tensor, grid: Tensor, kernel: str) -> None:
    if not input._dtype.is_floating_point:
        raise not_implemented(kernel, input._dtype)
    if grid._dtype is not input._dtype:
        raise RuntimeError(f"expected scalar type {input._dtype.legacy} but found {grid._dtype.legacy}")


def _sampled(input: Tensor, grid: Tensor, mode: Mode) -> Any:
    return sampled(samples(array_module(input._device.type), input._array, grid._array, mode))


# -- backward ----------------------------------------------------------------------------------------------------------


def grid_sampler_2d_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: tuple[bool, ...],
) -> tuple[Any, Tensor]:
    """The gradients of the input, if requested, and of the grid."""
    _check(input, grid, 2, interpolation_mode)
    grad_input = _zeros_like(input) if output_mask[0] else None
    grad_grid = ops.empty_like.call(grid, None, None, None, None, "contiguous_format")
    if not numel(grad_output._size):
        return grad_input, ops.zero_.call(grad_grid)
    grad_output = in_format(grad_output)
    _check_dtypes(input, grid, "grid_sampler_2d_backward_cpu_kernel_impl")
    mode = (interpolation_mode, padding_mode, align_corners)
    _store_gradients(grad_input, grad_grid, quiet.run(_gradients, grad_output, input, grid, mode, output_mask[0]))
    return grad_input, grad_grid


def grid_sampler_3d_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: tuple[bool, ...],
) -> tuple[Any, Tensor]:
    """The gradients of a volume, if requested, and of the grid."""
    _check(input, grid, 3, interpolation_mode)
    _check_dtypes(input, input, "grid_sampler_3d_backward_cpu")
    grad_input = _zeros_like(input) if output_mask[0] else None
    grad_grid = ops.empty_like.call(grid, None, None, None, None, "contiguous_format")
    if interpolation_mode == NEAREST:
        ops.zero_.call(grad_grid)
    _check_dtypes(input, grid, "grid_sampler_3d_backward_cpu")
    mode = (interpolation_mode, padding_mode, align_corners)
    _store_gradients(grad_input, grad_grid, quiet.run(_gradients, grad_output, input, grid, mode, output_mask[0]))
    return grad_input, grad_grid


def _zeros_like(tensor: Tensor) -> Tensor:
    return ops.zeros_like.call(tensor, None, None, None, None, "contiguous_format")


def _store_gradients(grad_input: Tensor | None, grad_grid: Tensor, found: tuple[Any, Any]) -> None:
    if grad_input is not None:
        store(grad_input, found[0])
    store(grad_grid, found[1])


def _gradients(grad_output: Tensor, input: Tensor, grid: Tensor, mode: Mode, of_input: bool) -> tuple[Any, Any]:
    given = samples(array_module(input._device.type), input._array, grid._array, mode)
    grad = grad_output._array
    return input_gradient(given, grad) if of_input else None, grid_gradient(given, grad)


# -- affine_grid_generator ---------------------------------------------------------------------------------------------


def affine_grid_generator(theta: Tensor, size: Size, align_corners: bool) -> Tensor:
    """The grid (N, *space, coordinates): each point of a base grid times theta.

    Raise RuntimeError unless ``size`` has 4 or 5 numbers.
    """
    space, dims = _space(size)
    base = _base_grid(theta, size, align_corners)
    rows = ops.view.call(base, (size[0], numel(space), dims + 1))
    grid = ops.bmm.call(rows, ops.transpose_int.call(theta, 1, 2))
    return ops.view.call(grid, (size[0], *space, dims))


def affine_grid_generator_backward(grad: Tensor, size: Size, align_corners: bool) -> Tensor:
    """The gradient of theta."""
    space, dims = _space(size)
    base = _base_grid(grad, size, align_corners)
    rows = ops.view.call(base, (size[0], numel(space), dims + 1))
    columns = ops.transpose_int.call(rows, 1, 2)
    flat = ops.reshape.call(grad, (size[0], numel(space), dims))
    return ops.transpose_int.call(ops.bmm.call(columns, flat), 1, 2)


def _space(size: Size) -> tuple[Size, int]:
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    return size[2:], len(size) - 2


def _base_grid(like: Tensor, size: Size, align_corners: bool) -> Tensor:
    """The base grid (N, *space, coordinates and 1), with coordinates from -1 to 1."""
    space, dims = _space(size)
    base = _empty((size[0], *space, dims + 1), like)
    for d in range(dims):
        target = ops.select_int.call(base, -1, d)
        line = _linspace_from_minus_one(like, space[dims - 1 - d], align_corners)
        for _ in range(d):
            line = ops.unsqueeze_.call(line, -1)
        ops.copy_.call(target, line, False)
    ops.fill__Scalar.call(ops.select_int.call(base, -1, dims), 1)
    return base


def _linspace_from_minus_one(like: Tensor, steps: int, align_corners: bool) -> Tensor:
    if steps <= 1:
        zero = _empty((1,), like)
        if zero._array is not None:
            zero._array[...] = 0
        return zero
    line = ops.linspace.call(-1, 1, steps, like._dtype, "strided", like._device, None)
    if align_corners:
        return line
    return ops.div_Scalar.call(ops.mul_Scalar.call(line, steps - 1), steps)
