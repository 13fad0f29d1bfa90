"""``_thnn_fused_lstm_cell``, ``_thnn_fused_gru_cell``: CUDA's fused cells (``aten/src/ATen/native/cuda/RNN.cu``) and
their differentiable backward functions (``native/RNN.cpp``).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.rnn.rnn_arrays import sigmoid
from dispatchviz.core.tensor.tensor import Size, Tensor

_GRU_PARTS = 5
"""The parts of the workspace: the three gates, the hidden state, and its contribution to the new gate."""


def _like(tensor: Tensor) -> Tensor:
    return ops.empty_like.call(tensor, None, None, None, None, "contiguous_format")


def _empty(tensor: Tensor, size: Size) -> Tensor:
    return ops.empty_memory_format.call(size, tensor._dtype, "strided", tensor._device, None, None)


def _with_bias(gates: Tensor, bias: Tensor | None) -> Any:
    return gates._array if bias is None else gates._array + bias._array


# -- lstm --------------------------------------------------------------------------------------------------------------


def _thnn_fused_lstm_cell(
    input_gates: Tensor, hidden_gates: Tensor, cx: Tensor, input_bias: Tensor | None, hidden_bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden state, cell state, and the gates."""
    workspace, hy, cy = _like(input_gates), _like(cx), _like(cx)
    xp: Any = array_module(cx._device.type)
    gates = _with_bias(input_gates, input_bias) + _with_bias(hidden_gates, hidden_bias)
    i, f, g, o = xp.split(gates, 4, axis=1)
    i, f, g, o = sigmoid(xp, i), sigmoid(xp, f), xp.tanh(g), sigmoid(xp, o)
    cy._array[...] = f * cx._array + i * g
    hy._array[...] = o * xp.tanh(cy._array)
    workspace._array[...] = xp.concatenate((i, f, g, o), axis=1)
    return hy, cy, workspace


def _thnn_fused_lstm_cell_backward_impl(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Any, Any, Any]:
    """The gradients of the gates, the cell state and a bias; None if no gradient is given."""
    if grad_hy is None and grad_cy is None:
        return None, None, None
    grad_gates, grad_cx = _like(workspace), _like(cx)
    xp: Any = array_module(cx._device.type)
    i, f, g, o = xp.split(workspace._array, 4, axis=1)
    squashed = xp.tanh(cy._array)
    of_hidden = 0 if grad_hy is None else grad_hy._array
    of_cell = of_hidden * o * (1 - squashed**2) + (0 if grad_cy is None else grad_cy._array)
    parts = (
        of_cell * g * i * (1 - i),
        of_cell * cx._array * f * (1 - f),
        of_cell * i * (1 - g**2),
        of_hidden * squashed * o * (1 - o),
    )
    grad_gates._array[...] = xp.concatenate(parts, axis=1)
    grad_cx._array[...] = of_cell * f
    return grad_gates, grad_cx, _summed(grad_gates) if has_bias else None


def _summed(gates: Tensor) -> Tensor:
    return ops.sum_dim_IntList.call(gates, (0,), False, None)


def _thnn_fused_lstm_cell_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Any, Any, Any, Any, Any]:
    """The gradients of both gates, the cell state and both biases; those of the gates are equal, and so are those of
    the biases.
    """
    gates, cell, bias = ops._thnn_fused_lstm_cell_backward_impl.call(grad_hy, grad_cy, cx, cy, workspace, has_bias)
    return gates, gates, cell, bias, bias


def _thnn_differentiable_lstm_cell_backward(
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    input_gates: Tensor,
    hidden_gates: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
    cx: Tensor,
    cy: Tensor,
) -> tuple[Any, Any, Any, Any, Any]:
    """``_thnn_fused_lstm_cell_backward`` composed of operators that have derivatives."""
    if grad_hy is None and grad_cy is None:
        return (None,) * 5
    gates = ops.add_Tensor.call(input_gates, hidden_gates, 1)
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else ops.add_Tensor.call(gates, bias, 1)
    chunks = ops.unsafe_chunk.call(gates, 4, 1)
    i, f = ops.sigmoid.call(chunks[0]), ops.sigmoid.call(chunks[1])
    c, o = ops.tanh.call(chunks[2]), ops.sigmoid.call(chunks[3])
    of_output, of_cell = _through_output(grad_hy, grad_cy, cx, cy, o)
    gig = ops.mul_Tensor.call(of_cell, c)
    gfg = ops.mul_Tensor.call(of_cell, cx)
    gcg = ops.mul_Tensor.call(of_cell, i)
    grad_cx = ops.mul_Tensor.call(of_cell, f)
    gig = ops.sigmoid_backward.call(gig, i)
    gfg = ops.sigmoid_backward.call(gfg, f)
    gcg = ops.tanh_backward.call(gcg, c)
    grad_gates = ops.cat.call([gig, gfg, gcg, of_output], 1)
    grad_bias = None if input_bias is None else _summed(grad_gates)
    return grad_gates, grad_gates, grad_cx, grad_bias, grad_bias


def _through_output(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, o: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of the output gate and of the new cell state."""
    squashed = ops.tanh.call(cy)
    if grad_hy is None:
        assert grad_cy is not None
        return ops.zeros_like.call(cx, None, None, None, None, "contiguous_format"), grad_cy
    of_output = ops.sigmoid_backward.call(ops.mul_Tensor.call(grad_hy, squashed), o)
    of_cell = ops.tanh_backward.call(ops.mul_Tensor.call(grad_hy, o), squashed)
    return of_output, of_cell if grad_cy is None else ops.add_Tensor.call(of_cell, grad_cy, 1)


# -- gru ---------------------------------------------------------------------------------------------------------------


def _thnn_fused_gru_cell(
    input_gates: Tensor, hidden_gates: Tensor, hx: Tensor, input_bias: Tensor | None, hidden_bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The hidden state, and the workspace of the backward kernel."""
    workspace = _empty(hx, (hx._size[0], hx._size[1] * _GRU_PARTS))
    hy = _like(hx)
    xp: Any = array_module(hx._device.type)
    i_reset, i_input, i_new = xp.split(_with_bias(input_gates, input_bias), 3, axis=1)
    h_reset, h_input, h_new = xp.split(_with_bias(hidden_gates, hidden_bias), 3, axis=1)
    reset, enter = sigmoid(xp, i_reset + h_reset), sigmoid(xp, i_input + h_input)
    new = xp.tanh(i_new + reset * h_new)
    hy._array[...] = new + enter * (hx._array - new)
    workspace._array[...] = xp.concatenate((reset, enter, new, hx._array, h_new), axis=1)
    return hy, workspace


def _thnn_fused_gru_cell_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Any, Any]:
    """The gradients of both gates, the hidden state and both biases."""
    hidden_size = workspace._size[1] // _GRU_PARTS
    grad_input_gates = _empty(workspace, (workspace._size[0], hidden_size * 3))
    grad_hidden_gates = _empty(workspace, (workspace._size[0], hidden_size * 3))
    grad_hx = _like(grad_hy)
    xp: Any = array_module(grad_hy._device.type)
    reset, enter, new, hx, h_new = xp.split(workspace._array, _GRU_PARTS, axis=1)
    grad = grad_hy._array
    of_enter = grad * (hx - new) * enter * (1 - enter)
    of_new = grad * (1 - enter) * (1 - new**2)
    of_reset = of_new * h_new * reset * (1 - reset)
    grad_input_gates._array[...] = xp.concatenate((of_reset, of_enter, of_new), axis=1)
    grad_hidden_gates._array[...] = xp.concatenate((of_reset, of_enter, of_new * reset), axis=1)
    grad_hx._array[...] = grad * enter
    if not has_bias:
        return grad_input_gates, grad_hidden_gates, grad_hx, None, None
    input_bias, hidden_bias = _summed(grad_input_gates), _summed(grad_hidden_gates)
    return grad_input_gates, grad_hidden_gates, grad_hx, input_bias, hidden_bias


def _thnn_differentiable_gru_cell_backward(
    grad_hy: Tensor,
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Any, Any]:
    """``_thnn_fused_gru_cell_backward`` composed of operators that have derivatives."""
    mul, add = ops.mul_Tensor.call, ops.add_Tensor.call
    in_g = input_gates if input_bias is None else add(input_gates, input_bias, 1)
    h_g = hidden_gates if hidden_bias is None else add(hidden_gates, hidden_bias, 1)
    i_reset, i_input, i_new = ops.unsafe_chunk.call(in_g, 3, 1)
    h_reset, h_input, h_new = ops.unsafe_chunk.call(h_g, 3, 1)
    reset = ops.sigmoid.call(add(i_reset, h_reset, 1))
    enter = ops.sigmoid.call(add(i_input, h_input, 1))
    grad_hx = mul(grad_hy, enter)
    new = ops.tanh.call(add(i_new, mul(reset, h_new), 1))
    of_enter = ops.sigmoid_backward.call(mul(grad_hy, ops.sub_Tensor.call(hx, new, 1)), enter)
    of_new = ops.tanh_backward.call(mul(grad_hy, ops.rsub_Scalar.call(enter, 1, 1)), new)
    of_hidden_new = mul(of_new, reset)
    of_reset = ops.sigmoid_backward.call(mul(of_new, h_new), reset)
    grad_input_gates = ops.cat.call([of_reset, of_enter, of_new], 1)
    grad_hidden_gates = ops.cat.call([of_reset, of_enter, of_hidden_new], 1)
    if input_bias is None:
        return grad_input_gates, grad_hidden_gates, grad_hx, None, None
    input_sum, hidden_sum = _summed(grad_input_gates), _summed(grad_hidden_gates)
    return grad_input_gates, grad_hidden_gates, grad_hx, input_sum, hidden_sum
