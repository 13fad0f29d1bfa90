"""Decompositions for forward mode: backward of ``softmax`` and ``nll_loss``, which have no forward formula
(``torch/_decomp/decompositions_for_jvp.py``, ``torch/csrc/jit/runtime/decomposition_registry.cpp``).

The operators that they call have forward formulas, so the tangent of the result follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.formulas.jvp_norms import native_batch_norm_backward, native_layer_norm_backward
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.losses.mse_nll_loss import MEAN
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor

# -- softmax -----------------------------------------------------------------------------------------------------------


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """output * (grad - sum of grad * output)"""
    product = ops.mul_Tensor.call(grad_output, output)
    total = ops.sum_dim_IntList.call(product, (dim,), True, None)
    grad_input = ops.sub_Tensor.call(product, ops.mul_Tensor.call(output, total), 1)
    return ops.contiguous.call(_cast(grad_output, grad_input, input_dtype), "contiguous_format")


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """grad - exp(output) * sum of grad"""
    powers = ops.exp.call(output)
    total = ops.sum_dim_IntList.call(grad_output, (dim,), True, None)
    grad_input = ops.sub_Tensor.call(grad_output, ops.mul_Tensor.call(powers, total), 1)
    return _cast(grad_output, grad_input, input_dtype)


def _cast(grad_output: Tensor, grad_input: Tensor, input_dtype: DType) -> Tensor:
    if grad_output._dtype is input_dtype:
        return grad_input
    return ops.to_dtype.call(grad_input, input_dtype, False, False, None)


# -- nll_loss ----------------------------------------------------------------------------------------------------------


def nll_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int,
    total_weight: Tensor,
) -> Tensor:  # fmt: skip
    """-weight * grad at the target, as a product of scattered tensors."""
    channel = 0 if len(self._size) < 2 else 1
    if reduction == MEAN:
        grad_output = ops.div_Tensor.call(grad_output, total_weight)
    if len(self._size) == 1 and target._size:
        target = ops.select_int.call(target, 0, 0)
    target = ops.unsqueeze.call(target, channel)
    safe_target = ops.where_ScalarOther.call(ops.ne_Scalar.call(target, ignore_index), target, 0)
    grad_input = ops.zeros_like.call(self, None, None, None, None, None)
    grad_input = ops.scatter_value.call(grad_input, channel, safe_target, -1.0)
    if len(grad_input._size) > len(grad_output._size) > 0:
        grad_output = ops.unsqueeze.call(grad_output, channel)
    if weight is not None:
        shape = tuple(weight._size[0] if dim == channel else 1 for dim in range(len(self._size)))
        grad_output = ops.mul_Tensor.call(grad_output, ops.reshape.call(weight, shape))
    grad_output = ops.where_ScalarOther.call(ops.ne_Scalar.call(target, ignore_index), grad_output, 0)
    return ops.mul_Tensor.call(grad_input, grad_output)


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "_softmax_backward_data": _softmax_backward_data,
    "_log_softmax_backward_data": _log_softmax_backward_data,
    "nll_loss_backward": nll_loss_backward,
    "nll_loss2d_backward": nll_loss_backward,
    "native_layer_norm_backward": native_layer_norm_backward,
    "native_batch_norm_backward": native_batch_norm_backward,
}
"""The decompositions by the operator's name.

NB: in PyTorch, the one of ``nll_loss_backward`` also calls ``numel``.
"""
