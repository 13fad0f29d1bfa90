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
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.thread.thread_state import thread

Optional = Tensor | None
Mask = tuple[bool, ...]
Three = tuple[Optional, Optional, Optional]


def native_group_norm_gradient(
    grads: Sequence[Optional], input: Tensor, mean: Tensor, rstd: Tensor, weight: Optional,
    N: int, C: int, HxW: int, group: int, output_mask: Mask,
) -> Any:  # fmt: skip
    """The gradients through the output, and what mean and 1 / std add to that of the input."""
    of_input, of_weight, of_bias = _through_output(grads[0], input, mean, rstd, weight, (N, C, HxW, group), output_mask)
    if output_mask[0] and (grads[1] is not None or grads[2] is not None):
        more = _through_statistics(grads[1], grads[2], input, rstd, (N, group))
        of_input = more if of_input is None else ops.add_Tensor.call(of_input, more, 1)
    return of_input, of_weight, of_bias


def _through_output(
    grad: Optional, input: Tensor, mean: Tensor, rstd: Tensor, weight: Optional, sizes: Size, output_mask: Mask
) -> Three:
    """The gradients by operators with derivatives if they may be differentiated again, else by one kernel."""
    if grad is None:
        return None, _zeros(weight, output_mask[1]), _zeros(weight, output_mask[2])
    if thread.state.grad_mode:
        return differentiable_backward(grad, input, mean, rstd, weight, sizes, output_mask)
    found: Three = call_of_node(
        ops.native_group_norm_backward, grad, input, mean, rstd, weight, *sizes, output_mask
    )  # fmt: skip
    return found


def _zeros(weight: Optional, wanted: bool) -> Optional:
    if not wanted or weight is None:
        return None
    return ops.zeros.call(weight._size, weight._dtype, "strided", weight._device, None)


def _through_statistics(of_mean: Optional, of_rstd: Optional, input: Tensor, rstd: Tensor, groups: Size) -> Tensor:
    """The gradient of the input through mean and 1 / std (``var_mean_backward``)."""
    of_var = None
    single = (*groups, 1)
    if of_rstd is not None:
        scale = ops.reshape.call(rstd, single)
        given = ops.view.call(of_rstd, single)
        cube = ops.mul_Tensor.call(ops.mul_Tensor.call(ops.mul_Scalar.call(scale, -0.5), scale), scale)
        of_var = ops.mul_Tensor.call(cube, given)
    x = ops.reshape.call(input, (*groups, numel(input._size[1:]) // groups[1]))
    given_mean = None if of_mean is None else ops.reshape.call(of_mean, single)
    found = None if of_var is None else var_backward(of_var, x, (2,), 0, True)
    if given_mean is not None:
        more = mean_backward(given_mean, x._size, (2,), numel(x._size), True)
        found = more if found is None else ops.add_Tensor.call(found, more, 1)
    assert found is not None
    return ops.reshape.call(found, input._size)


class _Groups(NamedTuple):
    """Tensors with the dimensions example, group, channel and position."""

    input: Tensor
    mean: Tensor
    rstd: Tensor
    grad: Tensor
    products: Tensor
    """Gradients times inputs, summed over positions."""
    sums: Tensor
    """Gradients, summed over positions."""


def differentiable_backward(
    grad: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, gamma: Optional, sizes: Size, output_mask: Mask
) -> Three:
    """The requested gradients of input, weight and bias. ``sizes``: N, C, HxW, group."""
    groups = _groups(grad, input, mean, rstd, sizes)
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        of_input = ops.reshape_as.call(_output_gradient(groups, gamma), input)
    if output_mask[1]:
        centered = ops.sub_Tensor.call(groups.products, ops.mul_Tensor.call(groups.sums, groups.mean), 1)
        total = ops.sum_dim_IntList.call(ops.mul_Tensor.call(centered, groups.rstd), (0,), False, None)
        of_weight = ops.reshape.call(total, (sizes[1],))
    if output_mask[2]:
        of_bias = ops.reshape.call(ops.sum_dim_IntList.call(groups.sums, (0,), False, None), (sizes[1],))
    return of_input, of_weight, of_bias


def _groups(grad: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, sizes: Size) -> _Groups:
    count, channels, positions, group = sizes
    whole, single = (count, group, channels // group, positions), (count, group, 1, 1)
    x = ops.reshape.call(input, whole)
    center, scale = ops.reshape.call(mean, single), ops.reshape.call(rstd, single)
    given = ops.reshape.call(grad, whole)
    products = ops.sum_dim_IntList.call(ops.mul_Tensor.call(given, x), (3,), True, None)
    return _Groups(x, center, scale, given, products, ops.sum_dim_IntList.call(given, (3,), True, None))


def _output_gradient(groups: _Groups, gamma: Optional) -> Tensor:
    """The gradient of the input through the normalized output: a * grad + b * input + c."""
    _, group, within, positions = groups.input._size
    weight = None if gamma is None else ops.reshape.call(gamma, (1, group, within, 1))
    fraction = 1.0 / (within * positions)
    cube = ops.mul_Tensor.call(ops.mul_Tensor.call(groups.rstd, groups.rstd), groups.rstd)
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
    return ops.sum_dim_IntList.call(weighted, (2,), True, None)
