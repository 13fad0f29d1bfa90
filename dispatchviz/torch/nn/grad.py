"""``torch.nn.grad``: the two halves of a convolution's backward, by name (``torch/nn/grad.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn._ntuple import ntuple

Ints = int | tuple[int, ...]


def _input_gradient(n: int) -> Callable[..., Tensor]:
    """Return a function for the gradient of an input of a given size, in ``n`` dimensions."""

    def input_gradient(
        input_size: Any,
        weight: Tensor,
        grad_output: Any,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
    ) -> Tensor:
        input = grad_output.new_empty(1).expand(input_size)
        sizes = [ntuple(each, n) for each in (stride, padding, dilation)]
        return _backward(grad_output, input, weight, *sizes, False, [0], groups, (True, False, False))[0]

    return input_gradient


def _weight_gradient(n: int) -> Callable[..., Tensor]:
    """Return a function for the gradient of a weight of a given size, in ``n`` dimensions."""

    def weight_gradient(
        input: Tensor,
        weight_size: Any,
        grad_output: Any,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
    ) -> Tensor:
        weight = grad_output.new_empty(1).expand(weight_size)
        sizes = [ntuple(each, n) for each in (stride, padding, dilation)]
        return _backward(grad_output, input, weight, *sizes, False, [0], groups, (False, True, False))[1]

    return weight_gradient


def _backward(grad_output: Tensor, input: Tensor, weight: Tensor, *parameters: Any) -> tuple[Tensor, ...]:
    gradients: tuple[Tensor, ...] = torch.ops.aten.convolution_backward(grad_output, input, weight, None, *parameters)
    return gradients


conv1d_input, conv2d_input, conv3d_input = map(_input_gradient, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_weight_gradient, (1, 2, 3))
