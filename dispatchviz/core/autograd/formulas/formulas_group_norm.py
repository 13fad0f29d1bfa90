"""Backward of ``native_group_norm``, differentiable (``torch/csrc/autograd/FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dispatchviz.core.autograd.formulas.formulas_reductions import var_backward
from dispatchviz.core.autograd.formulas.functions_manual import mean_backward
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import call_of_node
from dispatchviz.core.native.iterator.memory_formats import in_format, suggested
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.thread.thread_state import thread

Optional = Tensor | None
Mask = tuple[bool, ...]
Three = tuple[Optional, Optional, Optional]


def native_group_norm_gradient(
    grads: Sequence[Optional], input: Tensor, mean: Tensor, rstd: Tensor, weight: Optional,
    N: int, C: int, HxW: int, group: int, eps: float, output_mask: Mask,
) -> Any:  # fmt: skip
    """The gradients, by operators with derivatives if the gradients may be differentiated again, else by one kernel."""
    if thread.state.grad_mode or grads[1] is not None or grads[2] is not None:
        sizes = (N, C, HxW, group)
        return infinitely_differentiable_native_group_norm_backward(
            grads, input, mean, rstd, weight, sizes, eps, output_mask
        )
    grad = grads[0]
    if grad is None:
        return None, None, None
    memory_format = suggested(input) if input._device.type == "cpu" else "contiguous_format"
    x = in_format(input, memory_format)
    given = in_format(grad, memory_format)
    return call_of_node(ops.native_group_norm_backward, given, x, mean, rstd, weight, N, C, HxW, group, output_mask)


class _Groups(NamedTuple):
    """Tensors with the dimensions example, group, channel and position."""

    shape: Size
    """The shape (example, group, 1, 1)."""
    input: Tensor
    mean: Tensor
    rstd: Tensor
    grad: Optional
    products: Optional
    """Gradients times inputs, summed over positions."""
    sums: Optional
    """Gradients, summed over positions."""


def infinitely_differentiable_native_group_norm_backward(
    grads: Sequence[Optional], input: Tensor, mean: Tensor, rstd: Tensor, gamma: Optional,
    sizes: Size, eps: float, output_mask: Mask,
) -> Three:  # fmt: skip
    """The requested gradients of input, weight and bias. ``sizes``: N, C, HxW, group."""
    groups = _groups(grads[0], input, mean, rstd, sizes)
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        of_input = _input_gradient(groups, grads, input, gamma, eps)
    if output_mask[1] and groups.products is not None:
        assert groups.sums is not None
        assert gamma is not None
        centered = ops.sub_Tensor.call(groups.products, ops.mul_Tensor.call(groups.sums, groups.mean), 1)
        total = ops.sum_dim_IntList.call(ops.mul_Tensor.call(centered, groups.rstd), (0,), False, None)
        of_weight = ops.reshape_as.call(total, gamma)
    if output_mask[2] and groups.sums is not None:
        assert gamma is not None
        total = ops.sum_dim_IntList.call(groups.sums, (0,), False, None)
        of_bias = ops.reshape_as.call(total, gamma)
    return of_input, of_weight, of_bias


def _groups(grad: Optional, input: Tensor, mean: Tensor, rstd: Tensor, sizes: Size) -> _Groups:
    count, channels, positions, group = sizes
    whole, single = (count, group, channels // group, positions), (count, group, 1, 1)
    x = ops.reshape.call(input, whole)
    center, scale = ops.reshape.call(mean, single), ops.reshape.call(rstd, single)
    if grad is None:
        return _Groups(single, x, center, scale, None, None, None)
    given = ops.reshape.call(grad, whole)
    products = ops.sum_dim_IntList.call(ops.mul_Tensor.call(given, x), (3,), False, None)
    products = ops.unsqueeze_.call(products, -1)
    sums = ops.unsqueeze_.call(ops.sum_dim_IntList.call(given, (3,), False, None), -1)
    return _Groups(single, x, center, scale, given, products, sums)


def _input_gradient(groups: _Groups, grads: Sequence[Optional], input: Tensor, gamma: Optional, eps: float) -> Optional:
    rstd = groups.rstd
    weight = None
    if gamma is not None:
        weight = ops.reshape.call(gamma, (1, groups.shape[1], groups.input._size[2], 1))
    variance = ops.reciprocal_.call(ops.mul_Tensor.call(rstd, rstd))
    ops.clamp_min.call(ops.sub_Scalar.call(variance, eps, 1), 0)  # PyTorch computes the variance and drops it
    cube = ops.mul_Tensor.call(ops.mul_Tensor.call(rstd, rstd), rstd)
    of_var = None
    if grads[2] is not None:
        given = ops.view.call(grads[2], groups.shape)
        of_var = ops.mul_Tensor.call(ops.mul_Scalar.call(cube, -0.5), given)
    found = None if groups.grad is None else _output_gradient(groups, weight, cube)
    if grads[1] is not None and of_var is not None:
        more = _statistics_gradient(groups, of_var, ops.view.call(grads[1], groups.shape))
        found = more if found is None else ops.add__Tensor.call(found, more, 1)
    return None if found is None else ops.reshape_as.call(found, input)


def _statistics_gradient(groups: _Groups, of_var: Tensor, of_mean: Tensor) -> Tensor:
    """The gradient of mean and variance (``var_mean_backward``)."""
    x = groups.input
    of_var = var_backward(of_var, x, (2, 3), 0, True)
    return ops.add_Tensor.call(of_var, mean_backward(of_mean, x._size, (2, 3), numel(x._size), True), 1)


def _output_gradient(groups: _Groups, weight: Optional, cube: Tensor) -> Tensor:
    """The gradient of the input through the normalized output: a * grad + b * input + c."""
    assert groups.grad is not None
    assert groups.products is not None
    assert groups.sums is not None
    fraction = 1.0 / (groups.input._size[2] * groups.input._size[3])
    a = groups.rstd if weight is None else ops.mul_Tensor.call(groups.rstd, weight)
    products, sums = _summed(groups.products, weight), _summed(groups.sums, weight)
    b = ops.sub_Tensor.call(ops.mul_Tensor.call(sums, groups.mean), products, 1)
    b = ops.mul_Scalar.call(ops.mul_Tensor.call(b, cube), fraction)
    less = ops.mul_Scalar.call(ops.mul_Tensor.call(sums, groups.rstd), fraction)
    c = ops.sub_Tensor.call(ops.mul_Tensor.call(ops.neg.call(b), groups.mean), less, 1)
    second = ops.mul_Tensor.call(b, groups.input)
    first = ops.mul_Tensor.call(a, groups.grad)
    return ops.add_Tensor.call(ops.add_Tensor.call(first, second, 1), c, 1)


def _summed(tensor: Tensor, weight: Optional) -> Tensor:
    """The weighted sum over the channels of a group."""
    weighted = tensor if weight is None else ops.mul_Tensor.call(tensor, weight)
    return ops.unsqueeze_.call(ops.sum_dim_IntList.call(weighted, (2,), False, None), -2)
