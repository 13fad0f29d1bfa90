"""``mkldnn_rnn_layer``: float LSTMs on the CPU, one call of oneDNN per layer and direction
(``aten/src/ATen/native/mkldnn/RNN.cpp``).

NB: oneDNN's own rounding is not modeled. The workspace, which only oneDNN can read, has the size that it has for small
layers on a processor with AVX-512. The backward kernel recomputes the forward one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.memory.copy_clone import as_contiguous
from dispatchviz.core.native.rnn.rnn_arrays import Weights, lstm_backward, lstm_forward
from dispatchviz.core.native.rnn.rnn_layers import Stack
from dispatchviz.core.tensor.dtype import uint8
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.thread.thread_state import thread

_LSTM = 2
"""The value of ``ideep::rnn_kind`` for an LSTM."""
_WORKSPACE = 7 * 4096


# -- all layers --------------------------------------------------------------------------------------------------------


def mkldnn_rnn(
    input: Tensor,
    params: Sequence[Tensor],
    hidden: tuple[Tensor, Tensor],
    has_biases: bool,
    stack: Stack,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The layers of ``lstm``; a plain function, not an operator."""
    hidden_size = hidden[0]._size[2]
    layer_input = as_contiguous(ops.transpose_int.call(input, 0, 1) if batch_first else input)
    hx, cx = as_contiguous(hidden[0]), as_contiguous(hidden[1])
    directions, each = (2 if stack.bidirectional else 1), (4 if has_biases else 2)
    hy, cy = [], []
    for layer in range(stack.num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            weights = list(params[index * each : (index + 1) * each])
            state = (_select(hx, index), _select(cx, index))
            weights += [] if has_biases else _no_biases(weights)
            options = (hidden_size, stack.num_layers, has_biases, stack.bidirectional, batch_first, stack.train)
            arguments: tuple[Any, ...] = (layer_input, *weights, *state, direction > 0, (), _LSTM, *options)
            output, last, cell, _ = ops.mkldnn_rnn_layer.call(*arguments)
            outputs.append(output)
            hy.append(last)
            cy.append(cell)
        layer_input = outputs[0] if directions == 1 else ops.cat.call(outputs, -1)
        if stack.dropout != 0 and stack.train and layer < stack.num_layers - 1:
            layer_input = ops.dropout.call(layer_input, stack.dropout, True)
    final, cells = ops.stack.call(hy, 0), ops.stack.call(cy, 0)
    return (ops.transpose_int.call(layer_input, 0, 1) if batch_first else layer_input), final, cells


def _select(tensor: Tensor, index: int) -> Tensor:
    return ops.select_int.call(tensor, 0, index)


def _no_biases(weights: list[Tensor]) -> list[Tensor]:
    """Zeros in place of the biases, created from right to left as C++ evaluates the arguments."""
    return [_zeros(weight, weight._size) for weight in reversed(weights)][::-1]


def _zeros(like: Tensor, size: Size) -> Tensor:
    return ops.zeros.call(size, like._dtype, "strided", like._device, None)


# -- one layer ---------------------------------------------------------------------------------------------------------


def _empty(like: Tensor, size: Size | None = None, dtype: Any = None) -> Tensor:
    shape = like._size if size is None else size
    return ops.empty_memory_format.call(shape, dtype or like._dtype, "strided", like._device, None, None)


def _bias(weight: Tensor, first: Tensor, second: Tensor, has_biases: bool, hidden_size: int) -> Tensor:
    return ops.add_Tensor.call(first, second, 1) if has_biases else _zeros(weight, (4 * hidden_size,))


def _weights(weight_ih: Tensor, weight_hh: Tensor, bias: Tensor) -> Weights:
    return Weights(weight_ih._array, weight_hh._array, bias._array)


def mkldnn_rnn_layer(
    input: Tensor,
    weight0: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    weight3: Tensor,
    hx_: Tensor,
    cx_: Tensor,
    reverse: bool,
    batch_sizes: Size,
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """The output, hidden state, cell state and workspace; the workspace is None if gradients are disabled."""
    output = _empty(input, (*input._size[:2], hidden_size))
    hy, cy = _empty(hx_), _empty(cx_)
    weight_ih, weight_hh = as_contiguous(weight0), as_contiguous(weight1)
    bias = _bias(weight_ih, weight2, weight3, has_biases, hidden_size)
    workspace = _empty(input, (_WORKSPACE,), uint8) if thread.state.grad_mode else None
    xp = array_module(input._device.type)
    weights = _weights(weight_ih, weight_hh, bias)
    results = lstm_forward(xp, input._array, weights, hx_._array, cx_._array, reverse)
    for target, values in zip((output, hy, cy), results, strict=False):
        target._array[...] = values
    return output, hy, cy, workspace


def mkldnn_rnn_layer_backward(
    input: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    weight3: Tensor,
    weight4: Tensor,
    hx_: Tensor,
    cx_tmp: Tensor,
    output: Tensor,
    hy_: Tensor,
    cy_: Tensor,
    grad_output: Tensor | None,
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
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
) -> tuple[Any, ...]:
    """The gradients of the input, both weights, both biases, hidden state and cell state; None if no gradient is
    given.
    """
    if grad_output is None and grad_hy is None and grad_cy is None:
        return (None,) * 7
    given = ((grad_output, output), (grad_hy, hx_), (grad_cy, cx_tmp))
    grads = [gradient_or_zeros(grad, like) for grad, like in given]
    weight_ih, weight_hh = as_contiguous(weight1), as_contiguous(weight2)
    bias = _bias(weight_ih, weight3, weight4, has_biases, hidden_size)
    cx = cx_tmp
    if hx_._storage is cx_tmp._storage:
        cx = ops.clone.call(cx_tmp, None)
    results = [_empty(like) for like in (input, hx_, cx, weight_ih, weight_hh, bias)]
    xp, weights = array_module(input._device.type), _weights(weight_ih, weight_hh, bias)
    *_, steps = lstm_forward(xp, input._array, weights, hx_._array, cx._array, reverse)
    first, second, third = (grad._array for grad in grads)
    of_x, of_weights, of_hidden, of_cell = lstm_backward(
        xp, input._array, weights, steps, (first, second, third), reverse
    )
    found = (of_x, of_hidden, of_cell, of_weights.ih, of_weights.hh, of_weights.bias)
    for target, values in zip(results, found, strict=True):
        target._array[...] = values
    diff_x, diff_hx, diff_cx, diff_w1, diff_w2, diff_b = results
    return diff_x, diff_w1, diff_w2, diff_b, ops.clone.call(diff_b, None), diff_hx, diff_cx


def gradient_or_zeros(grad: Tensor | None, like: Tensor) -> Tensor:
    """The gradient, or zeros like the tensor; contiguous."""
    if grad is None:
        return ops.zeros_like.call(like, None, None, None, None, "contiguous_format")
    return as_contiguous(grad)
