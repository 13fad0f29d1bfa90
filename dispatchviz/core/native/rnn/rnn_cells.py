"""``lstm_cell``, ``gru_cell``, ``rnn_tanh_cell``, ``rnn_relu_cell``: one time step (``aten/src/ATen/native/RNN.cpp``).

CUDA's fused kernels are in ``fused_rnn_cells.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import call_with_undefined
from dispatchviz.core.tensor.tensor import Tensor


class CellParams(Struct, frozen=True):
    """The weights of one direction of one layer; ``w_hr`` projects the hidden state of an LSTM."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None = None
    b_hh: Tensor | None = None
    w_hr: Tensor | None = None

    def linear_ih(self, input: Tensor) -> Tensor:
        """The input's contribution to the gates, with bias."""
        return _linear(input, self.w_ih, self.b_ih)

    def linear_hh(self, hidden: Tensor) -> Tensor:
        """The hidden state's contribution to the gates, with bias."""
        return _linear(hidden, self.w_hh, self.b_hh)

    def matmul_ih(self, input: Tensor) -> Tensor:
        """The input's contribution to the gates, without bias."""
        return ops.matmul.call(input, ops.t.call(self.w_ih))

    def matmul_hh(self, hidden: Tensor) -> Tensor:
        """The hidden state's contribution to the gates, without bias."""
        return ops.matmul.call(hidden, ops.t.call(self.w_hh))

    def matmul_hr(self, hidden: Tensor) -> Tensor:
        """The hidden state, projected if there is a projection."""
        return hidden if self.w_hr is None else ops.matmul.call(hidden, ops.t.call(self.w_hr))


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return call_with_undefined(ops.linear, input, weight, bias)  # type: ignore[no-any-return]
    return ops.linear.call(input, weight, bias)


# -- steps -------------------------------------------------------------------------------------------------------------


def _simple_step(name: str) -> Callable[..., Tensor]:
    nonlinearity = getattr(ops, name)

    def step(input: Tensor, hidden: Tensor, params: CellParams, pre_compute_input: bool = False) -> Tensor:
        from_hidden = params.linear_hh(hidden)
        from_input = input if pre_compute_input else params.linear_ih(input)
        return nonlinearity.call(ops.add__Tensor.call(from_hidden, from_input, 1))  # type: ignore[no-any-return]

    return step


tanh_step = _simple_step("tanh")
relu_step = _simple_step("relu")
"""The next hidden state of a simple RNN.

``pre_compute_input``: the input has already been multiplied by its weights.
"""


def lstm_step(
    input: Tensor, hidden: tuple[Tensor, Tensor], params: CellParams, pre_compute_input: bool = False
) -> tuple[Tensor, Tensor]:
    """The next hidden state and cell state."""
    hx, cx = hidden
    if input._device.type == "cuda":
        return _lstm_step_cuda(input, hx, cx, params)
    from_hidden = params.linear_hh(hx)
    gates = ops.add__Tensor.call(from_hidden, input if pre_compute_input else params.linear_ih(input), 1)
    chunks = ops.unsafe_chunk.call(gates, 4, 1)
    ingate = ops.sigmoid_.call(chunks[0])
    forgetgate = ops.sigmoid_.call(chunks[1])
    cellgate = ops.tanh_.call(chunks[2])
    outgate = ops.sigmoid_.call(chunks[3])
    kept = ops.mul_Tensor.call(forgetgate, cx)
    cy = ops.add__Tensor.call(kept, ops.mul_Tensor.call(ingate, cellgate), 1)
    hy = ops.mul_Tensor.call(outgate, ops.tanh.call(cy))
    return params.matmul_hr(hy), cy


def _lstm_step_cuda(input: Tensor, hx: Tensor, cx: Tensor, params: CellParams) -> tuple[Tensor, Tensor]:
    igates, hgates = params.matmul_ih(input), params.matmul_hh(hx)
    hy, cy, _ = _fused(ops._thnn_fused_lstm_cell, igates, hgates, cx, params)
    return params.matmul_hr(hy), cy


def gru_step(input: Tensor, hidden: Tensor, params: CellParams, pre_compute_input: bool = False) -> Tensor:
    """The next hidden state."""
    if input._device.type == "cuda":
        igates, hgates = params.matmul_ih(input), params.matmul_hh(hidden)
        return _fused(ops._thnn_fused_gru_cell, igates, hgates, hidden, params)[0]  # type: ignore[no-any-return]
    i_reset, i_input, i_new = ops.unsafe_chunk.call(input if pre_compute_input else params.linear_ih(input), 3, 1)
    h_reset, h_input, h_new = ops.unsafe_chunk.call(params.linear_hh(hidden), 3, 1)
    reset_gate = ops.sigmoid_.call(ops.add__Tensor.call(h_reset, i_reset, 1))
    input_gate = ops.sigmoid_.call(ops.add__Tensor.call(h_input, i_input, 1))
    new_gate = ops.tanh_.call(ops.add_Tensor.call(i_new, ops.mul__Tensor.call(h_new, reset_gate), 1))
    change = ops.mul__Tensor.call(ops.sub_Tensor.call(hidden, new_gate, 1), input_gate)
    return ops.add__Tensor.call(change, new_gate, 1)


def _fused(operator: Any, igates: Tensor, hgates: Tensor, state: Tensor, params: CellParams) -> Any:
    arguments = (igates, hgates, state, params.b_ih, params.b_hh)
    return call_with_undefined(operator, *arguments) if params.b_ih is None else operator.call(*arguments)


# -- operators ---------------------------------------------------------------------------------------------------------


def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The hidden state and the cell state. Raise RuntimeError if sizes do not fit."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    hidden_size = w_hh._size[1]
    _check_input(input, w_ih)
    _check_weights(4, w_ih, w_hh, hidden_size)
    _check_hidden(input, hx[0], hidden_size, 0)
    _check_hidden(input, hx[1], hidden_size, 1)
    return lstm_step(input, (hx[0], hx[1]), CellParams(w_ih, w_hh, b_ih, b_hh))


def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Tensor:
    """The next hidden state. Raise RuntimeError if sizes do not fit."""
    _check_input(input, w_ih)
    _check_hidden(input, hx, w_hh._size[1], 0)
    _check_weights(3, w_ih, w_hh, w_hh._size[1])
    return gru_step(input, hx, CellParams(w_ih, w_hh, b_ih, b_hh))


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """The next hidden state. Raise RuntimeError if sizes do not fit."""
    _check_simple(input, hx, w_ih, w_hh)
    return tanh_step(input, hx, CellParams(w_ih, w_hh, b_ih, b_hh))


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """The next hidden state. Raise RuntimeError if sizes do not fit."""
    _check_simple(input, hx, w_ih, w_hh)
    return relu_step(input, hx, CellParams(w_ih, w_hh, b_ih, b_hh))


def _check_simple(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor) -> None:
    _check_weights(1, w_ih, w_hh, w_hh._size[1])
    _check_input(input, w_ih)
    _check_hidden(input, hx, w_hh._size[1], 0)


def _check_input(input: Tensor, w_ih: Tensor) -> None:
    if input._size[1] != w_ih._size[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {input._size[1]} expected {w_ih._size[1]}")


def _check_hidden(input: Tensor, hx: Tensor, hidden_size: int, label: int) -> None:
    if input._size[0] != hx._size[0]:
        raise RuntimeError(f"Input batch size {input._size[0]} doesn't match hidden{label} batch size {hx._size[0]}")
    if hx._size[1] != hidden_size:
        raise RuntimeError(f"hidden{label} has inconsistent hidden_size: got {hx._size[1]}, expected {hidden_size}")


def _check_weights(gates: int, w_ih: Tensor, w_hh: Tensor, hidden_size: int) -> None:
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if weight._size[0] != gates * hidden_size:
            raise RuntimeError(
                f"{name} first dim must be {gates} * hidden_size = {gates * hidden_size}, but got {weight._size[0]}"
            )
