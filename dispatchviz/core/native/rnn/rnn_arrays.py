"""An LSTM layer of NumPy or CuPy arrays, forward and backward, for kernels that compute all time steps in one call.

Gates are concatenated in PyTorch's order: input, forget, cell, output. All arrays have one dtype.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

Array = Any


class Weights(Struct, frozen=True):
    """The weights of one direction; ``bias`` is the sum of both biases."""

    ih: Array
    hh: Array
    bias: Array


class Step(Struct, frozen=True):
    """The states before one time step, its gates, and tanh of its cell state."""

    hidden: Array
    cell: Array
    gates: tuple[Array, Array, Array, Array]
    tanh_of_cell: Array


def sigmoid(xp: Any, x: Array) -> Array:
    """1 / (1 + e ** -x)"""
    return 1 / (1 + xp.exp(-x))


def _order(length: int, reverse: bool) -> list[int]:
    return list(range(length))[:: -1 if reverse else 1]


def lstm_forward(
    xp: Any, x: Array, weights: Weights, hidden: Array, cell: Array, reverse: bool
) -> tuple[Array, Array, Array, dict[int, Step]]:
    """The outputs (time, batch, features), the last hidden and cell state, and the steps by their time."""
    inputs = x @ weights.ih.T + weights.bias
    outputs = xp.empty((x.shape[0], *hidden.shape), x.dtype)
    steps: dict[int, Step] = {}
    for time in _order(x.shape[0], reverse):
        parts = xp.split(inputs[time] + hidden @ weights.hh.T, 4, axis=1)
        kept = (sigmoid(xp, parts[0]), sigmoid(xp, parts[1]), xp.tanh(parts[2]), sigmoid(xp, parts[3]))
        following = kept[1] * cell + kept[0] * kept[2]
        squashed = xp.tanh(following)
        steps[time] = Step(hidden, cell, kept, squashed)
        hidden, cell = kept[3] * squashed, following
        outputs[time] = hidden
    return outputs, hidden, cell, steps


def lstm_backward(
    xp: Any, x: Array, weights: Weights, steps: dict[int, Step], grads: tuple[Array, Array, Array], reverse: bool
) -> tuple[Array, Weights, Array, Array]:
    """The gradients of the input, the weights, the initial hidden state and the initial cell state."""
    of_output, of_hidden, of_cell = grads
    of_gates = xp.empty((x.shape[0], x.shape[1], weights.ih.shape[0]), x.dtype)
    for time in reversed(_order(x.shape[0], reverse)):
        step = steps[time]
        enter, forget, new, leave = step.gates
        of_hidden = of_hidden + of_output[time]
        of_cell = of_cell + of_hidden * leave * (1 - step.tanh_of_cell**2)
        parts = (
            of_cell * new * enter * (1 - enter),
            of_cell * step.cell * forget * (1 - forget),
            of_cell * enter * (1 - new**2),
            of_hidden * step.tanh_of_cell * leave * (1 - leave),
        )
        of_gates[time] = xp.concatenate(parts, axis=1)
        of_hidden, of_cell = of_gates[time] @ weights.hh, of_cell * forget
    hidden = xp.stack([steps[time].hidden for time in range(x.shape[0])])
    of_weights = Weights(
        xp.tensordot(of_gates, x, axes=((0, 1), (0, 1))),
        xp.tensordot(of_gates, hidden, axes=((0, 1), (0, 1))),
        of_gates.sum((0, 1)),
    )
    return of_gates @ weights.ih, of_weights, of_hidden, of_cell
