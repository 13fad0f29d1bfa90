"""``lstm``, ``gru``, ``rnn_tanh``, ``rnn_relu`` (``aten/src/ATen/native/RNN.cpp``).

A network runs layer by layer through cells (``rnn_cells.py``, ``rnn_layers.py``) unless a library computes it: oneDNN a
float LSTM on the CPU (``rnn_mkldnn.py``), cuDNN every network on CUDA (``rnn_cudnn.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.rnn.rnn_cells import CellParams, gru_step, lstm_step, relu_step, tanh_step
from dispatchviz.core.native.rnn.rnn_cudnn import refuse_cudnn
from dispatchviz.core.native.rnn.rnn_layers import (
    Cell,
    Layer,
    Packed,
    Stack,
    full_bidirectional_layer,
    full_layer,
    packed_bidirectional_layer,
    packed_layer,
    stacked,
)
from dispatchviz.core.native.rnn.rnn_mkldnn import mkldnn_rnn
from dispatchviz.core.tensor.dtype import float32
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.context import context
from dispatchviz.core.thread.warning import warn_once

Tensors = Sequence[Tensor]

_PROJECTIONS = "LSTM with projections is not supported with oneDNN. Using default implementation."


# -- gru, rnn_tanh, rnn_relu -------------------------------------------------------------------------------------------


def gru_input(
    input: Tensor,
    hx: Tensor,
    params: Tensors,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """The output and the last hidden states of a padded batch."""
    stack = Stack(num_layers, dropout, train, bidirectional)
    return _run_padded("gru", gru_step, input, hx, params, has_biases, stack, batch_first)


def gru_data(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Tensors,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor]:
    """The output and the last hidden states of a packed batch."""
    stack = Stack(num_layers, dropout, train, bidirectional)
    return _run_packed("gru", gru_step, Packed(data, batch_sizes), hx, params, has_biases, stack)


def rnn_tanh_input(
    input: Tensor,
    hx: Tensor,
    params: Tensors,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """The output and the last hidden states of a padded batch."""
    stack = Stack(num_layers, dropout, train, bidirectional)
    return _run_padded("rnn_tanh", tanh_step, input, hx, params, has_biases, stack, batch_first)


def rnn_tanh_data(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Tensors,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor]:
    """The output and the last hidden states of a packed batch."""
    stack = Stack(num_layers, dropout, train, bidirectional)
    return _run_packed("rnn_tanh", tanh_step, Packed(data, batch_sizes), hx, params, has_biases, stack)


def rnn_relu_input(
    input: Tensor,
    hx: Tensor,
    params: Tensors,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """The output and the last hidden states of a padded batch."""
    stack = Stack(num_layers, dropout, train, bidirectional)
    return _run_padded("rnn_relu", relu_step, input, hx, params, has_biases, stack, batch_first)


def rnn_relu_data(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Tensors,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor]:
    """The output and the last hidden states of a packed batch."""
    stack = Stack(num_layers, dropout, train, bidirectional)
    return _run_packed("rnn_relu", relu_step, Packed(data, batch_sizes), hx, params, has_biases, stack)


def _run_padded(
    mode: str,
    cell: Cell,
    input: Tensor,
    hx: Tensor,
    params: Tensors,
    has_biases: bool,
    stack: Stack,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    refuse_cudnn(input)
    check_attributes(input, params, [hx])
    sequence = ops.transpose_int.call(input, 0, 1) if batch_first else input
    layers = gather_params(params, has_biases)
    hiddens = ops.unbind_int.call(hx, 0)
    layer: Layer = full_bidirectional_layer if stack.bidirectional else full_layer
    result, finals = stacked(layer, cell, sequence, hiddens, layers, stack)
    hidden = ops.stack.call(finals, 0)
    return (ops.transpose_.call(result, 0, 1) if batch_first else result), hidden


def _run_packed(
    mode: str, cell: Cell, input: Packed, hx: Tensor, params: Tensors, has_biases: bool, stack: Stack
) -> tuple[Tensor, Tensor]:
    refuse_cudnn(input.data)
    layers = gather_params(params, has_biases)
    hiddens = ops.unbind_int.call(hx, 0)
    layer: Layer = packed_bidirectional_layer if stack.bidirectional else packed_layer
    result, finals = stacked(layer, cell, input, hiddens, layers, stack)
    return result.data, ops.stack.call(finals, 0)


# -- lstm --------------------------------------------------------------------------------------------------------------


def lstm_input(
    input: Tensor,
    hx: Tensors,
    params: Tensors,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The output, the last hidden states and the last cell states of a padded batch."""
    stack = Stack(num_layers, dropout, train, bidirectional)
    _check_two_states(hx)
    refuse_cudnn(input)
    _check_lstm_states(hx, stack)
    projected = hx[0]._size[2] != hx[1]._size[2]
    if _use_mkldnn(input, params, hx) and not projected:
        return mkldnn_rnn(input, params, (hx[0], hx[1]), has_biases, stack, batch_first)
    if _use_mkldnn(input, params, hx):
        warn_once("lstm_projections", _PROJECTIONS, "aten/src/ATen/native/RNN.cpp:1512")
    check_attributes(input, params, hx)
    sequence = ops.transpose_int.call(input, 0, 1) if batch_first else input
    layers = gather_params(params, has_biases, projected)
    layer: Layer = full_bidirectional_layer if bidirectional else full_layer
    result, hy, cy = _lstm(layer, sequence, layers, hx, stack)
    return (ops.transpose_int.call(result, 0, 1) if batch_first else result), hy, cy


def lstm_data(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensors,
    params: Tensors,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The output, the last hidden states and the last cell states of a packed batch."""
    stack = Stack(num_layers, dropout, train, bidirectional)
    _check_two_states(hx)
    refuse_cudnn(data)
    _check_lstm_states(hx, stack)
    layers = gather_params(params, has_biases, hx[0]._size[2] != hx[1]._size[2])
    layer: Layer = packed_bidirectional_layer if bidirectional else packed_layer
    result, hy, cy = _lstm(layer, Packed(data, batch_sizes), layers, hx, stack)
    return result.data, hy, cy


def _lstm(layer: Layer, input: Any, layers: list[CellParams], hx: Tensors, stack: Stack) -> tuple[Any, Tensor, Tensor]:
    first, second = ops.unbind_int.call(hx[0], 0), ops.unbind_int.call(hx[1], 0)
    result, finals = stacked(layer, lstm_step, input, list(zip(first, second, strict=True)), layers, stack)
    cy = ops.stack.call([cell for _, cell in finals], 0)  # C++ evaluates the last argument first
    return result, ops.stack.call([hidden for hidden, _ in finals], 0), cy


def _check_two_states(hx: Tensors) -> None:
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")


def _check_lstm_states(hx: Tensors, stack: Stack) -> None:
    """Raise RuntimeError unless there is one state for every layer and direction."""
    names = ("h_0", "c_0")
    for index, name in enumerate(names):
        rank = len(hx[index]._size)
        if rank != 3:
            raise RuntimeError(f"For batched 3-D input, hx[{index}] ({name}) should be 3-D but got {rank}-D tensor")
    expected = stack.num_layers * (2 if stack.bidirectional else 1)
    for index, name in enumerate(names):
        if hx[index]._size[0] != expected:
            raise RuntimeError(
                f"Expected {name} size(0) to be {expected} (num_layers * num_directions), but got {hx[index]._size[0]}"
            )


# -- choosing the library ----------------------------------------------------------------------------------------------


def _use_mkldnn(input: Tensor, params: Tensors, hx: Tensors) -> bool:
    """Return whether oneDNN computes the network: float32 on the CPU.

    NB: on some processors it takes bfloat16 and half too.
    """
    on_cpu = all(tensor._device.type == "cpu" for tensor in (input, *params, *hx))
    return context.user_enabled_mkldnn and on_cpu and input._dtype is float32 and numel(input._size) != 0


# -- parameters --------------------------------------------------------------------------------------------------------


def gather_params(params: Tensors, has_biases: bool, has_projections: bool = False) -> list[CellParams]:
    """The flat list of parameters as CellParams. Raise RuntimeError if their number does not fit."""
    each = (4 if has_biases else 2) + has_projections
    if len(params) % each:
        raise RuntimeError("got an incorrect number of RNN parameters")
    cells = []
    for start in range(0, len(params), each):
        group = list(params[start : start + each])
        w_hr = group.pop() if has_projections else None
        w_ih, w_hh, *biases = group
        b_ih, b_hh = biases or (None, None)
        cells.append(CellParams(w_ih, w_hh, b_ih, b_hh, w_hr))
    return cells


def check_attributes(input: Tensor, params: Tensors, hiddens: Tensors) -> None:
    """Raise RuntimeError unless all tensors are on one device (``RNN.h``)."""
    for name, tensors in (("hidden", hiddens), ("parameter", params)):
        for tensor in tensors:
            on_cpu = tensor._device.type == "cpu" and not tensor._size
            if tensor._device != input._device and not on_cpu:
                raise RuntimeError(
                    f"Input and {name} tensors are not at the same device, found input tensor at {input._device} and "
                    f"{name} tensor at {tensor._device}"
                )
