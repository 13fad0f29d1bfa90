"""Recurrent layers: a cell run over a sequence, bidirectional, stacked (``aten/src/ATen/native/RNN.cpp``).

A layer takes (cell, input, hidden state, weights) and returns (outputs, last hidden state). Hidden states are tensors,
or pairs of tensors for an LSTM. A bidirectional layer takes a pair of everything but the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.rnn.rnn_cells import CellParams
from dispatchviz.core.tensor.tensor import Tensor

Hidden = Any
"""A tensor, or the pair (hidden state, cell state)."""

Cell = Callable[..., Hidden]
Layer = Callable[[Cell, Any, Any, Any], tuple[Any, Any]]


class Packed(Struct, frozen=True):
    """A PackedSequence: all first time steps, then the second ones of the sequences that have one, and so on."""

    data: Tensor
    batch_sizes: Tensor

    def lengths(self) -> list[int]:
        """The number of sequences at each time step."""
        return [int(size) for size in self.batch_sizes._array]


class Stack(Struct, frozen=True):
    """The settings of a stack of layers."""

    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool


# -- hidden states -----------------------------------------------------------------------------------------------------


def _as_output(hidden: Hidden) -> Tensor:
    return hidden[0] if isinstance(hidden, tuple) else hidden  # type: ignore[no-any-return]


def _concatenated(hiddens: Sequence[Hidden]) -> Hidden:
    if isinstance(hiddens[0], tuple):  # C++ evaluates the last argument first
        cells = ops.cat.call([cell for _, cell in hiddens], 0)
        return ops.cat.call([hidden for hidden, _ in hiddens], 0), cells
    return ops.cat.call(list(hiddens), 0)


def _sliced(hidden: Hidden, start: int, end: int) -> Hidden:
    if isinstance(hidden, tuple):
        cell = ops.narrow.call(hidden[1], 0, start, end - start)
        return ops.narrow.call(hidden[0], 0, start, end - start), cell
    return ops.narrow.call(hidden, 0, start, end - start)


# -- padded batches ----------------------------------------------------------------------------------------------------


def _run(
    cell: Cell, inputs: Sequence[Tensor], hidden: Hidden, params: CellParams, computed: bool
) -> tuple[list[Tensor], Hidden]:
    outputs = []
    for input in inputs:
        hidden = cell(input, hidden, params, computed)
        outputs.append(_as_output(hidden))
    if not outputs:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    return outputs, hidden


def _on_cpu(tensor: Tensor) -> bool:
    """Return whether the tensor is on the CPU, where the inputs of all steps are multiplied by their weights at
    once.
    """
    return tensor._device.type == "cpu"


def full_layer(cell: Cell, input: Tensor, hidden: Hidden, params: CellParams) -> tuple[Tensor, Hidden]:
    """Run the cell from the first step to the last."""
    computed = _on_cpu(input)
    steps = ops.unbind_int.call(params.linear_ih(input) if computed else input, 0)
    outputs, last = _run(cell, steps, hidden, params, computed)
    return ops.stack.call(outputs, 0), last


def full_bidirectional_layer(
    cell: Cell, input: Tensor, hidden: tuple[Hidden, Hidden], params: tuple[CellParams, CellParams]
) -> tuple[Tensor, tuple[Hidden, Hidden]]:
    """Run the cells in both directions; their outputs are concatenated."""
    computed = _on_cpu(input)
    steps = ops.unbind_int.call(params[0].linear_ih(input) if computed else input, 0)
    forward, first = _run(cell, steps, hidden[0], params[0], computed)
    forward_output = ops.stack.call(forward, 0)
    if computed:
        steps = ops.unbind_int.call(params[1].linear_ih(input), 0)
    back, second = _run(cell, steps[::-1], hidden[1], params[1], computed)
    back_output = ops.stack.call(back[::-1], 0)
    return ops.cat.call([forward_output, back_output], len(forward_output._size) - 1), (first, second)


# -- packed batches ----------------------------------------------------------------------------------------------------


def packed_layer(cell: Cell, input: Packed, hidden: Hidden, params: CellParams) -> tuple[Packed, Hidden]:
    """Run the cell from the first step to the last; the batch shrinks as sequences end."""
    outputs, finished, offset = [], [], 0
    lengths = input.lengths()
    before = lengths[0]
    computed = _on_cpu(input.data)
    data = params.linear_ih(input.data) if computed else input.data
    for length in lengths:
        step = ops.narrow.call(data, 0, offset, length)
        offset += length
        if before > length:
            finished.append(_sliced(hidden, length, before))
            hidden = _sliced(hidden, 0, length)
        before = length
        hidden = cell(step, hidden, params, computed)
        outputs.append(_as_output(hidden))
    finished.append(hidden)
    return Packed(ops.cat.call(outputs, 0), input.batch_sizes), _concatenated(finished[::-1])


def _reversed_packed_layer(cell: Cell, input: Packed, given: Hidden, params: CellParams) -> tuple[Packed, Hidden]:
    """Run the cell from the last step to the first; the batch grows."""
    outputs, offset = [], input.data._size[0]
    lengths = input.lengths()
    before = lengths[-1]
    computed = _on_cpu(input.data)
    data = params.linear_ih(input.data) if computed else input.data
    hidden = _sliced(given, 0, before)
    for length in reversed(lengths):
        if length > before:
            hidden = _concatenated([hidden, _sliced(given, before, length)])
        step = ops.narrow.call(data, 0, offset - length, length)
        offset -= length
        before = length
        hidden = cell(step, hidden, params, computed)
        outputs.append(_as_output(hidden))
    return Packed(ops.cat.call(outputs[::-1], 0), input.batch_sizes), hidden


def packed_bidirectional_layer(
    cell: Cell, input: Packed, hidden: tuple[Hidden, Hidden], params: tuple[CellParams, CellParams]
) -> tuple[Packed, tuple[Hidden, Hidden]]:
    """Run the cells in both directions; their outputs are concatenated."""
    forward, first = packed_layer(cell, input, hidden[0], params[0])
    back, second = _reversed_packed_layer(cell, input, hidden[1], params[1])
    return Packed(ops.cat.call([forward.data, back.data], -1), input.batch_sizes), (first, second)


# -- stacks ------------------------------------------------------------------------------------------------------------


def stacked(
    layer: Layer, cell: Cell, input: Any, hiddens: Sequence[Hidden], params: Sequence[CellParams], stack: Stack
) -> tuple[Any, list[Hidden]]:
    """The outputs of the last layer, and the last hidden state of every layer and direction.

    Raise RuntimeError unless there are a hidden state and weights for each of them.
    """
    states, weights = (_pairs(hiddens), _pairs(params)) if stack.bidirectional else (hiddens, params)
    if stack.num_layers != len(states):
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    if stack.num_layers != len(weights):
        raise RuntimeError("Expected more weights in stacked_rnn")
    finals: list[Hidden] = []
    for index in range(stack.num_layers):
        input, last = layer(cell, input, states[index], weights[index])
        finals += last if stack.bidirectional else [last]
        if stack.dropout != 0 and stack.train and index < stack.num_layers - 1:
            input = _dropout(input, stack.dropout)
    return input, finals


def _pairs(values: Sequence[Any]) -> list[tuple[Any, Any]]:
    if len(values) % 2:
        raise RuntimeError("Odd number of params or hiddens given to a bidirectional RNN")
    return list(zip(values[::2], values[1::2], strict=True))


def _dropout(input: Tensor | Packed, p: float) -> Tensor | Packed:
    if isinstance(input, Packed):
        return Packed(ops.dropout.call(input.data, p, True), input.batch_sizes)
    return ops.dropout.call(input, p, True)
