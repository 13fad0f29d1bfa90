"""Single steps of recurrent networks: ``RNNCell``, ``LSTMCell``, ``GRUCell`` (``torch/nn/modules/rnn.py``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.torch import _VF
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn import init
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.parameter import new_parameter


class RNNCellBase(Module):
    """Base class with the weights of one cell."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        new_parameter(self, "weight_ih", (gates, input_size), device, dtype)
        new_parameter(self, "weight_hh", (gates, hidden_size), device, dtype)
        new_parameter(self, "bias_ih", gates, device, dtype, bias)
        new_parameter(self, "bias_hh", gates, device, dtype, bias)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """Return the sizes and the options that are not defaults, for the repr."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)

    def reset_parameters(self) -> None:
        """Reset all parameters, uniform within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check(self, what: str, tensor: Any) -> None:
        if tensor.dim() not in (1, 2):
            name = type(self).__name__
            raise ValueError(f"{self._name or name}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead")

    _name = ""
    """The name in errors, regardless of the subclass."""

    def _weights(self) -> tuple[Any, Any, Any, Any]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _zeros(self, input: Any) -> Any:
        return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)


class _OneState(RNNCellBase):
    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the hidden state after this input, for one example or a batch. Raise ValueError for other ranks."""
        self._check("input", input)
        if hx is not None:
            self._check("hidden", hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not batched:
            hx = hx.unsqueeze(0)
        result = self._function()(input, hx, *self._weights())
        return result if batched else result.squeeze(0)

    def _function(self) -> Any:
        raise NotImplementedError


class RNNCell(_OneState):
    """A recurrent cell with ``tanh`` or ``relu``."""

    _name = "RNNCell"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _function(self) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return getattr(_VF, f"rnn_{self.nonlinearity}_cell")


class GRUCell(_OneState):
    """Gated recurrent unit."""

    _name = "GRUCell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _function(self) -> Any:
        return _VF.gru_cell


class LSTMCell(RNNCellBase):
    """Long short-term memory."""

    _name = "LSTMCell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Return (hidden state, cell state) after this input. Raise ValueError for ranks other than 1 and 2."""
        self._check("input", input)
        for index, state in enumerate(hx or ()):
            self._check(f"hx[{index}]", state)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        result = _VF.lstm_cell(input, hx, *self._weights())
        return result if batched else (result[0].squeeze(0), result[1].squeeze(0))
