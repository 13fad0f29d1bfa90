"""Unpooling of maxima to their indices (``torch/nn/functional.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn._ntuple import ntuple
from dispatchviz.torch.overrides import overridable


def _output_size(input: Any, kernel: Any, stride: Any, padding: Any, wanted: Any) -> Any:
    """Return the size before pooling, or the requested one. Raise ValueError if pooling cannot come from that."""
    size, dims = input.size(), len(kernel)
    usual = [(size[d - dims] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(dims)]
    found = usual if wanted is None else _checked(wanted, usual, stride)
    for dim, length in enumerate(found):
        if length < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{dim}]={length}"
            )
    return found


def _checked(wanted: Any, usual: list[int], stride: Any) -> Any:
    dims = len(usual)
    if len(wanted) == dims + 2:
        wanted = wanted[2:]
    if len(wanted) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for dim in range(dims):
        least, most = usual[dim] - stride[dim], usual[dim] + stride[dim]
        if not least < wanted[dim] < most:
            raise ValueError(f'invalid output_size "{wanted}" (dim {dim} must be between {least} and {most})')
    return wanted


def _windows(dims: int, input: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> Any:
    """Return the stride, the padding and the size of the result."""
    kernel = ntuple(kernel_size, dims)
    steps = kernel if stride is None else ntuple(stride, dims)
    sides = ntuple(padding, dims)
    return steps, sides, _output_size(input, kernel, steps, sides, output_size)


@overridable
def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Zeros with each maximum of a sequence at its index."""
    size = _windows(1, input, kernel_size, stride, padding, output_size)[2]
    size = [*size, 1] if isinstance(size, list) else (*size, 1)
    return torch._C._nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1)


@overridable
def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Zeros with each maximum of an image at its index."""
    size = _windows(2, input, kernel_size, stride, padding, output_size)[2]
    return torch._C._nn.max_unpool2d(input, indices, size)


@overridable
def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Zeros with each maximum of a volume at its index."""
    steps, sides, size = _windows(3, input, kernel_size, stride, padding, output_size)
    return torch._C._nn.max_unpool3d(input, indices, size, steps, sides)
