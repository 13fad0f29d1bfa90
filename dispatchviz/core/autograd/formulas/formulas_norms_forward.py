"""``batch_norm_jvp``, ``layer_norm_jvp``, ``group_norm_jvp`` (``*_norm_jvp`` of
``torch/csrc/autograd/FunctionsManual.cpp``).

``X_t`` is the tangent of argument X, ``X_p`` the argument without it. Nothing is written in place if a mode or a
subclass sees the operators, or if the tangent is zeros without memory. Lines are in the order of C++, which evaluates
the arguments of a call from right to left.
"""

from __future__ import annotations

from math import prod

from dispatchviz.core.autograd.formulas.functions_manual import number_div
from dispatchviz.core.autograd.forward_mode.forward_ad import fw_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.conj_neg_bits import is_zerotensor
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

Optional = Tensor | None

# -- the three norms ---------------------------------------------------------------------------------------------------


def layer_norm_jvp(
    input_p: Tensor, input_t: Tensor, weight_p: Optional, weight_t: Optional, bias_p: Optional, bias_t: Optional,
    saved_mean: Tensor, saved_invstd: Tensor, normalized_shape: Size,
) -> Tensor:  # fmt: skip
    """The tangent of the normalized input, scaled and shifted with weight and bias and their tangents."""
    axis = len(input_t._size) - len(normalized_shape)
    dims = tuple(range(axis, len(input_t._size)))
    view_size = (*input_t._size[:axis], *[1] * len(dims))
    mean = ops.view.call(saved_mean, view_size)
    invstd = ops.view.call(saved_invstd, view_size)
    result_t = _norm_jvp(input_p, input_t, mean, invstd, dims)
    result_p = None if weight_p is None else _normalized(input_p, mean, invstd)
    return _shifted(result_p, result_t, weight_p, weight_t, bias_t, (*[1] * axis, *input_t._size[axis:]))


def batch_norm_jvp(
    input_p: Tensor, input_t: Tensor, weight_p: Optional, weight_t: Optional, bias_p: Optional, bias_t: Optional,
    running_mean: Optional, running_var: Optional, saved_mean: Tensor, saved_invstd: Tensor, train: bool, eps: float,
) -> Tensor:  # fmt: skip
    """The tangent over all dimensions but the second. In evaluation the statistics are constants."""
    dims = tuple(dim for dim in range(len(input_t._size)) if dim != 1)
    view_size = tuple(1 if dim in dims else length for dim, length in enumerate(input_t._size))
    if train:
        mean = ops.view.call(saved_mean, view_size)
        invstd = ops.view.call(saved_invstd, view_size)
        result_t = _norm_jvp(input_p, input_t, mean, invstd, dims)
    else:
        mean, invstd = _running(running_mean, running_var, view_size, eps)
        result_t = ops.mul_Tensor.call(input_t, invstd)
    result_p = None if weight_p is None else _normalized(input_p, mean, invstd)
    return _shifted(result_p, result_t, weight_p, weight_t, bias_t, view_size)


def _running(running_mean: Optional, running_var: Optional, view_size: Size, eps: float) -> tuple[Tensor, Tensor]:
    """The running mean and inverse deviation. Raise RuntimeError if a statistic has a tangent."""
    assert running_mean is not None, "evaluation needs it"
    assert running_var is not None, "the same"
    if fw_grad(running_mean) is not None or fw_grad(running_var) is not None:
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined"
        )
    mean = ops.view.call(running_mean, view_size)
    deviation = ops.sqrt.call(ops.add_Scalar.call(running_var, eps, 1))
    return mean, ops.view.call(number_div(1, deviation), view_size)


def group_norm_jvp(
    input_p: Tensor, input_t: Tensor, weight_p: Optional, weight_t: Optional, bias_p: Optional, bias_t: Optional,
    saved_mean: Tensor, saved_invstd: Tensor, groups: int,
) -> Tensor:  # fmt: skip
    """The tangent as for batch norm, of one example whose channels are the groups."""
    shape = _groups_as_channels(input_p, groups)
    rows_t = ops.reshape.call(input_t, shape)
    rows_p = ops.reshape.call(input_p, shape)
    normalized = batch_norm_jvp(
        rows_p, rows_t, None, None, None, None, None, None, saved_mean, saved_invstd, True, 0.0
    )  # fmt: skip
    result_t = ops.view.call(normalized, input_p._size)
    result_p = None
    if weight_p is not None:
        view_size = (1, rows_t._size[1], 1)
        invstd = ops.view.call(saved_invstd, view_size)
        mean = ops.view.call(saved_mean, view_size)
        result_p = ops.view.call(_normalized(rows_p, mean, invstd), input_p._size)
    affine = (1, input_p._size[1], *[1] * (len(input_p._size) - 2))
    return _shifted(result_p, result_t, weight_p, weight_t, bias_t, affine)


def group_norm_mean_jvp(input_t: Tensor, mean_p: Tensor, groups: int) -> Tensor:
    """The mean tangent of each group."""
    rows = ops.reshape.call(input_t, _groups_as_channels(input_t, groups))
    return ops.view_as.call(ops.mean_dim.call(rows, (2,), False, None), mean_p)


def group_norm_invstd_jvp(input_p: Tensor, input_t: Tensor, mean_p: Tensor, invstd_p: Tensor, groups: int) -> Tensor:
    """The tangent of the inverse of the standard deviation. As in PyTorch, input and its tangent are swapped."""
    shape = _groups_as_channels(input_p, groups)
    rows_t = ops.reshape.call(input_t, shape)
    rows_p = ops.reshape.call(input_p, shape)
    invstd = ops.view.call(invstd_p, shape)
    mean = ops.view.call(mean_p, shape)
    tangent = _invstd_jvp(rows_t, rows_p, mean, invstd, (2,), keepdim=False)
    return ops.view_as.call(tangent, invstd_p)


def _groups_as_channels(input: Tensor, groups: int) -> Size:
    examples = input._size[0]
    return 1, examples * groups, -1 if examples else 1


# -- parts -------------------------------------------------------------------------------------------------------------


def _any_subclass_like(*tensors: Tensor) -> bool:
    """Return whether modes or subclasses see one of the tensors (``areAnyTensorSubclassLike``)."""
    return any(is_tensor_subclass_like(tensor) for tensor in tensors)


def _normalized(input: Tensor, mean: Tensor, invstd: Tensor) -> Tensor:
    return ops.mul_Tensor.call(ops.sub_Tensor.call(input, mean, 1), invstd)


def _centred(tensor: Tensor, dims: Size) -> Tensor:
    return ops.sub_Tensor.call(tensor, ops.mean_dim.call(tensor, dims, True, None), 1)


def _norm_jvp(input_p: Tensor, input_t: Tensor, mean: Tensor, invstd: Tensor, dims: Size) -> Tensor:
    """The tangent of the normalized input."""
    invstd_t = _invstd_jvp(input_p, input_t, mean, invstd, dims, keepdim=True)
    if _any_subclass_like(input_t, input_p, mean, invstd) or is_zerotensor(input_t):
        second = ops.mul_Tensor.call(ops.sub_Tensor.call(input_p, mean, 1), invstd_t)
        return ops.add_Tensor.call(ops.mul_Tensor.call(_centred(input_t, dims), invstd), second, 1)
    result = ops.mul__Tensor.call(_centred(input_t, dims), invstd)
    other = ops.mul__Tensor.call(ops.sub_Tensor.call(input_p, mean, 1), invstd_t)
    return ops.add__Tensor.call(result, other, 1)


def _invstd_jvp(input_p: Tensor, input_t: Tensor, mean: Tensor, invstd: Tensor, dims: Size, *, keepdim: bool) -> Tensor:
    """The tangent of the inverse of the standard deviation."""
    if _any_subclass_like(input_t, input_p, mean, invstd) or is_zerotensor(input_t):
        distance = ops.sub_Tensor.call(input_p, mean, 1)
        centered = _centred(input_t, dims)
        derivative = ops.mul_Tensor.call(ops.neg.call(ops.pow_Tensor_Scalar.call(invstd, 3)), centered)
        tangent = ops.mul_Tensor.call(derivative, distance)
    else:
        tangent = ops.mul__Tensor.call(_centred(input_t, dims), ops.sub_Tensor.call(input_p, mean, 1))
        tangent = ops.mul__Tensor.call(tangent, ops.neg.call(ops.pow_Tensor_Scalar.call(invstd, 3)))
    tangent = ops.sum_dim_IntList.call(tangent, dims, keepdim, None)
    return ops.div__Scalar.call(tangent, prod(input_t._size[dim] for dim in dims))


def _shifted(
    result_p: Optional, result_t: Tensor, weight_p: Optional, weight_t: Optional, bias_t: Optional, shape: Size
) -> Tensor:
    bias_t = None if bias_t is None else ops.view.call(bias_t, shape)
    weight_t = None if weight_t is None else ops.view.call(weight_t, shape)
    weight_p = None if weight_p is None else ops.view.call(weight_p, shape)
    return _affine_jvp(result_p, result_t, weight_p, weight_t, bias_t)


def _affine_jvp(input_p: Optional, input_t: Tensor, weight_p: Optional, weight_t: Optional, bias_t: Optional) -> Tensor:
    """The tangent of input * weight + bias."""
    if input_p is not None and weight_p is not None and weight_t is not None:
        zeros = is_zerotensor(input_t) or is_zerotensor(weight_t)
        if zeros or _any_subclass_like(input_p, input_t, weight_p, weight_t):
            second = ops.mul_Tensor.call(input_p, weight_t)
            input_t = ops.add_Tensor.call(ops.mul_Tensor.call(input_t, weight_p), second, 1)
        else:
            input_t = ops.mul__Tensor.call(input_t, weight_p)
            input_t = ops.add__Tensor.call(input_t, ops.mul__Tensor.call(input_p, weight_t), 1)
    if bias_t is not None:
        elsewhere = is_zerotensor(input_t) or _any_subclass_like(input_t, bias_t)
        input_t = (ops.add_Tensor if elsewhere else ops.add__Tensor).call(input_t, bias_t, 1)
    return input_t
