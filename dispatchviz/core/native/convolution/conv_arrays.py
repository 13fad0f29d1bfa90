"""Convolution of NumPy or CuPy arrays, forward and backward, with any number of spatial dimensions and groups.

An input is (batch, channels, *space); weights are (outputs, channels / groups, *kernel). A transposed convolution is
the input gradient of a plain one. Each kernel position is one matrix product over the elements that it meets, so only
the padding is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from dispatchviz.core.tensor.tensor import Size


class Steps(NamedTuple):
    """The stride, padding and dilation of each spatial dimension, and the number of groups."""

    stride: Size
    padding: Size
    dilation: Size
    groups: int


def output_space(space: Size, kernel: Size, steps: Steps) -> Size:
    """``conv_output_size``: the number of kernel positions in each dimension."""
    return tuple(
        (length + 2 * pad - by * (width - 1) - 1) // step + 1
        for length, width, step, pad, by in zip(space, kernel, *steps[:3], strict=True)
    )


def input_space(space: Size, kernel: Size, steps: Steps, output_padding: Size) -> Size:
    """``conv_input_size``: the spatial size of a transposed convolution's result."""
    return tuple(
        (length - 1) * step - 2 * pad + by * (width - 1) + more + 1
        for length, width, step, pad, by, more in zip(space, kernel, *steps[:3], output_padding, strict=True)
    )


def convolved(xp: Any, x: Any, weight: Any, space: Size, steps: Steps) -> Any:
    """Each window of x times the weights. ``space``: the number of windows to use in each dimension."""
    padded, kernels = _grouped(_padded(xp, x, steps.padding), 1, steps.groups), _grouped(weight, 0, steps.groups)
    count, outputs = x.shape[0], weight.shape[0]
    result = xp.zeros((count, steps.groups, outputs // steps.groups, _count(space)), x.dtype)
    for at, window in _windows(weight.shape[2:], space, steps):
        result += xp.matmul(kernels[(..., *at)], _flat(padded[window], space))
    return result.reshape(count, outputs, *space)


def input_gradient(xp: Any, grad: Any, weight: Any, space: Size, steps: Steps) -> Any:
    """The gradient of an input of the given spatial size, which is also the transposed convolution of ``grad``."""
    groups, count = steps.groups, grad.shape[0]
    kernels, flat = _grouped(weight, 0, groups), _flat(_grouped(grad, 1, groups), grad.shape[2:])
    whole = tuple(length + 2 * pad for length, pad in zip(space, steps.padding, strict=True))
    found = xp.zeros((count, groups, weight.shape[1], *whole), grad.dtype)
    for at, window in _windows(weight.shape[2:], grad.shape[2:], steps):
        part = xp.matmul(xp.swapaxes(kernels[(..., *at)], -1, -2), flat)
        found[window] += part.reshape(count, groups, weight.shape[1], *grad.shape[2:])
    inside = tuple(slice(pad, pad + length) for pad, length in zip(steps.padding, space, strict=True))
    return found.reshape(count, -1, *whole)[(..., *inside)]


def weight_gradient(xp: Any, grad: Any, x: Any, kernel: Size, steps: Steps) -> Any:
    """The gradient of the weights."""
    groups, space = steps.groups, grad.shape[2:]
    padded = _grouped(_padded(xp, x, steps.padding), 1, groups)
    flat = _flat(_grouped(grad, 1, groups), space)
    found = xp.zeros((groups, grad.shape[1] // groups, x.shape[1] // groups, *kernel), x.dtype)
    for at, window in _windows(kernel, space, steps):
        found[(..., *at)] = xp.matmul(flat, xp.swapaxes(_flat(padded[window], space), -1, -2)).sum(0)
    return found.reshape(grad.shape[1], -1, *kernel)


def _count(space: Size) -> int:
    found = 1
    for length in space:
        found *= length
    return found


def _flat(array: Any, space: Size) -> Any:
    """An array with its spatial dimensions flattened into one."""
    return array.reshape(*array.shape[: array.ndim - len(space)], _count(space))


def _grouped(array: Any, dim: int, groups: int) -> Any:
    """An array whose channel dimension is split into groups of channels."""
    shape = array.shape
    return array.reshape(*shape[:dim], groups, shape[dim] // groups, *shape[dim + 1 :])


def _padded(xp: Any, array: Any, padding: Size) -> Any:
    if not any(padding):
        return array
    return xp.pad(array, ((0, 0), (0, 0), *((pad, pad) for pad in padding)))


def _windows(kernel: Size, space: Size, steps: Steps) -> Iterator[tuple[Size, Any]]:
    """Yield each kernel position with the index of the elements that it meets."""
    for at in product(*map(range, kernel)):
        slices = (
            slice(index * by, index * by + step * (length - 1) + 1, step)
            for index, by, step, length in zip(at, steps.dilation, steps.stride, space, strict=True)
        )
        yield at, (..., *slices)
