"""Backward of fused LSTM and GRU cells, chosen by grad mode (``derivatives.yaml``), and of oneDNN's LSTM, which is
differentiable itself (``aten/src/ATen/native/mkldnn/RNN.cpp``).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.formulas.formulas_activation import number_minus
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import call_of_node
from dispatchviz.core.native.rnn.rnn_mkldnn import gradient_or_zeros
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.thread.thread_state import thread

Grads = tuple[Any, ...]

# -- fused cells -------------------------------------------------------------------------------------------------------


def _thnn_fused_lstm_cell_gradient(
    grads: list[Any],
    input_gates: Tensor,
    hidden_gates: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
    cx: Tensor,
    cy: Tensor,
    workspace: Tensor,
) -> Grads:
    """The gradients, by one kernel, or by operators if they may be differentiated again."""
    if thread.state.grad_mode:
        gates = (input_gates, hidden_gates, input_bias, hidden_bias)
        arguments = (grads[0], grads[1], *gates, cx, cy)
        return call_of_node(ops._thnn_differentiable_lstm_cell_backward, *arguments)  # type: ignore[no-any-return]
    known = (cx, cy, workspace, input_bias is not None)
    return call_of_node(ops._thnn_fused_lstm_cell_backward, grads[0], grads[1], *known)  # type: ignore[no-any-return]


def _thnn_fused_gru_cell_gradient(
    grad: Tensor | None,
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
    workspace: Tensor,
) -> Grads:
    """The gradients, by one kernel, or by operators if they may be differentiated again."""
    if grad is None:
        return (None,) * 5
    if thread.state.grad_mode:
        arguments = (grad, input_gates, hidden_gates, hx, input_bias, hidden_bias)
        return call_of_node(ops._thnn_differentiable_gru_cell_backward, *arguments)  # type: ignore[no-any-return]
    return ops._thnn_fused_gru_cell_backward.call(grad, workspace, input_bias is not None)


# -- oneDNN ------------------------------------------------------------------------------------------------------------


def mkldnn_rnn_layer_gradient(
    input: Tensor,
    weight0: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    weight3: Tensor,
    hx: Tensor,
    cx: Tensor,
    output: Tensor,
    hy: Tensor,
    cy: Tensor,
    grads: list[Any],
    reverse: bool,
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    train: bool,
    bidirectional: bool,
    batch_sizes: Size,
    batch_first: bool,
    workspace: Tensor,
) -> Grads:
    """The gradients, by oneDNN's kernel, or by operators if they may be differentiated again."""
    tensors = (input, weight0, weight1, weight2, weight3, hx, cx)
    if thread.state.grad_mode:
        return _differentiable_backward(tensors, output, grads, reverse, hidden_size, has_biases)
    arguments = (*tensors, output, hy, cy, *grads[:3], reverse, mode, hidden_size, num_layers, has_biases, train)
    return call_of_node(  # type: ignore[no-any-return]
        ops.mkldnn_rnn_layer_backward, *arguments, bidirectional, batch_sizes, batch_first, workspace
    )


State = tuple[Tensor, Tensor]
Gates = tuple[Tensor, Tensor, Tensor, Tensor]


def _differentiable_backward(
    tensors: tuple[Tensor, ...], output: Tensor, grads: list[Any], reverse: bool, hidden_size: int, has_biases: bool
) -> Grads:
    """Recompute the forward pass step by step, then the backward pass."""
    if not any(grad is not None for grad in grads[:3]):
        return (None,) * 7
    input, weight_ih, weight_hh, bias_ih, bias_hh, hx, cx = tensors
    of_output, of_hidden, of_cell = (
        gradient_or_zeros(grad, like) for grad, like in zip(grads[:3], (output, hx, cx), strict=True)
    )
    if not has_biases:
        bias_ih, bias_hh = (_zeros(weight_ih, 4 * hidden_size) for _ in range(2))
    length = input._size[0]
    order = list(range(length))[:: -1 if reverse else 1]
    states: list[State] = [(hx, cx)]
    gates: list[Gates] = []
    for time in order:
        step, state = _step(_at(input, time), states[-1], (weight_ih, weight_hh, bias_ih, bias_hh))
        gates.append(step)
        states.append(state)
    of_inputs: list[Any] = [None] * length
    sums: tuple[Tensor, ...] = ()
    for index in reversed(range(length)):
        time = order[index]
        of_hidden = ops.add_Tensor.call(_at(of_output, time), of_hidden, 1)
        of_gates, of_cell = _back(gates[index], states[index], states[index + 1], of_hidden, of_cell)
        bias = ops.sum_dim_IntList.call(of_gates, (0,), False, None)
        of_inputs[time] = ops.unsqueeze.call(ops.matmul.call(of_gates, weight_ih), 0)
        of_hidden = ops.matmul.call(of_gates, weight_hh)
        at_time = _at(input, time)  # arguments are evaluated from right to left
        inputs = ops.matmul.call(ops.transpose_int.call(of_gates, 0, 1), at_time)
        hiddens = ops.matmul.call(ops.transpose_int.call(of_gates, 0, 1), states[index][0])
        found: tuple[Tensor, ...] = (bias, inputs, hiddens)
        if sums:
            found = tuple(ops.add__Tensor.call(total, more, 1) for total, more in zip(sums, found, strict=True))
        sums = found
    of_input = ops.cat.call(of_inputs, 0)
    return of_input, sums[1], sums[2], sums[0], sums[0], of_hidden, of_cell


def _at(tensor: Tensor, time: int) -> Tensor:
    return ops.select_int.call(tensor, 0, time)


def _zeros(like: Tensor, length: int) -> Tensor:
    return ops.zeros.call((length,), like._dtype, "strided", like._device, None)


def _step(input: Tensor, state: State, weights: tuple[Tensor, ...]) -> tuple[Gates, State]:
    """The gates, and the next hidden state and cell state."""
    weight_ih, weight_hh, bias_ih, bias_hh = weights
    first = ops.linear.call(input, weight_ih, bias_ih)
    gate = ops.add__Tensor.call(first, ops.linear.call(state[0], weight_hh, bias_hh), 1)
    chunks = ops.unsafe_chunk.call(gate, 4, 1)
    i, f = ops.sigmoid_.call(chunks[0]), ops.sigmoid_.call(chunks[1])
    g, o = ops.tanh_.call(chunks[2]), ops.sigmoid_.call(chunks[3])
    kept = ops.mul_Tensor.call(f, state[1])
    cy = ops.add_Tensor.call(kept, ops.mul_Tensor.call(i, g), 1)
    hy = ops.mul_Tensor.call(o, ops.tanh.call(cy))
    return (i, f, g, o), (hy, cy)


def _back(gates: Gates, before: State, after: State, of_hidden: Tensor, of_cell: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the gates as one tensor, and of the previous cell state."""
    mul = ops.mul_Tensor.call
    i, f, g, o = gates
    cx, cy = before[1], after[1]
    second = ops.tanh.call(cy)
    squared = mul(ops.tanh.call(cy), second)
    derivative = number_minus(1, squared)
    d1 = ops.add_Tensor.call(of_cell, mul(mul(of_hidden, o), derivative), 1)
    dgp, dip = mul(d1, i), mul(d1, g)
    previous = mul(d1, f)
    dfp = mul(d1, cx)
    dop = mul(of_hidden, ops.tanh.call(cy))
    do = _through(dop, o)
    dg = mul(dgp, number_minus(1, mul(g, g)))
    df, di = _through(dfp, f), _through(dip, i)
    return ops.cat.call([di, df, dg, do], 1), previous


def _through(grad: Tensor, gate: Tensor) -> Tensor:
    """grad * gate * (1 - gate), whose operands are evaluated from right to left"""
    rest = number_minus(1, gate)
    return ops.mul_Tensor.call(ops.mul_Tensor.call(grad, gate), rest)
