"""``RNN``, ``LSTM`` and ``GRU`` (``torch/nn/modules/rnn.py``); single steps are in ``rnn_cells.py``.

NB: cuDNN's own layout of weights is not modeled, so ``flatten_parameters`` changes nothing.
"""

from __future__ import annotations

import math
import numbers
import warnings
import weakref
from typing import Any

from dispatchviz.torch import _VF
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn import init
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.utils.rnn import PackedSequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Layers of a recurrent network: ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0``, ... The names
    of the reverse direction end in ``_reverse``.

    Raise ValueError or TypeError for options that PyTorch refuses.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weight_refs: list[Any] = []
        _check_dropout(dropout, num_layers)
        _check_options(self)
        self._make_weights({"device": device, "dtype": dtype})
        self._init_flat_weights()
        self.reset_parameters()

    # -- weights ------------------------------------------------------------------------------------------------------

    def _make_weights(self, options: dict[str, Any]) -> None:
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(self.num_layers):
            for direction in range(self._directions):
                weights = self._layer_weights(layer, options)
                names = self._layer_names(layer, direction)
                for name, weight in zip(names, weights, strict=True):
                    setattr(self, name, weight)
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _layer_weights(self, layer: int, options: dict[str, Any]) -> list[Any]:
        def new(size: Any) -> Any:
            return torch.nn.Parameter(torch.empty(size, **options))

        gates = _GATES[self.mode] * self.hidden_size
        features = self.proj_size if self.proj_size > 0 else self.hidden_size
        inputs = self.input_size if layer == 0 else features * self._directions
        weights = [new((gates, inputs)), new((gates, features))]
        biases = [new(gates), new(gates)]  # created even without biases, as in PyTorch
        projection = [new((self.proj_size, self.hidden_size))] if self.proj_size else []
        return weights + (biases if self.bias else []) + projection

    def _layer_names(self, layer: int, direction: int) -> list[str]:
        kinds = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.bias else [])]
        kinds += ["weight_hr"] if self.proj_size > 0 else []
        return [f"{kind}_l{layer}" + ("_reverse" if direction == 1 else "") for kind in kinds]

    def _init_flat_weights(self) -> None:
        self._flat_weights: list[Any] = [getattr(self, name, None) for name in self._flat_weights_names]
        self._flat_weight_refs = _references(self._flat_weights)
        self.flatten_parameters()

    def __setattr__(self, attr: str, value: Any) -> None:
        if hasattr(self, "_flat_weights_names") and attr in self._flat_weights_names and hasattr(self, "_flat_weights"):
            self._flat_weights[self._flat_weights_names.index(attr)] = value
        super().__setattr__(attr, value)

    def flatten_parameters(self) -> None:
        """Do nothing. NB: PyTorch packs cuDNN's weights into one piece of memory."""

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self._flat_weight_refs = []
        result = super()._apply(fn, recurse)
        self._init_flat_weights()
        return result

    def reset_parameters(self) -> None:
        """Reset all parameters, uniform within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _update_flat_weights(self) -> None:
        pairs = zip(self._flat_weight_refs, self._flat_weights_names, strict=True)
        for reference, name in pairs:
            weight = getattr(self, name, None)
            if weight is not None and reference is not None and reference() is not weight:
                self._init_flat_weights()
                return

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, in one list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def __getstate__(self) -> dict[str, Any]:
        self._update_flat_weights()
        state = self.__dict__.copy()
        del state["_flat_weight_refs"]
        return state

    def __setstate__(self, d: dict[str, Any]) -> None:
        super().__setstate__(d)
        self._flat_weight_refs = _references(self._flat_weights)

    # -- checks -------------------------------------------------------------------------------------------------------

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """Raise ValueError for a dtype other than the weights', RuntimeError for another size."""
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype and not torch._C._is_any_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        rank = 2 if batch_sizes is not None else 3
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _expected(self, input: Any, batch_sizes: Any, features: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * self._directions, batch, features

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """Return (layers and directions, batch, features)."""
        return self._expected(input, batch_sizes, self.proj_size if self.proj_size > 0 else self.hidden_size)

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError for another size."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Run both checks."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """Reorder the sequences."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # -- running ------------------------------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Return (output, last hidden state) for (time, batch, features), for one sequence, or for a packed batch.

        Raise ValueError or RuntimeError for inputs that do not fit.
        """
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            word = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(
                f"{self.mode.split('_')[0]}: Expected input to be 2D or 3D, got {input.dim()}D{word} instead"
            )
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        hx = self._given_hidden(input, hx, batched)
        result = self._call(input, None, hx)
        output, hidden = self._parts(result)
        if not batched:
            output = output.squeeze(batch_dim)
            hidden = self._on_each(hidden, lambda state: state.squeeze(1))
        return output, self.permute_hidden(hidden, None)

    def _forward_packed(self, packed: Any, hx: Any) -> tuple[Any, Any]:
        input, batch_sizes, sorted_indices, unsorted_indices = packed
        max_batch_size = batch_sizes[0]
        if hx is None:
            hx = self._zeros(input, max_batch_size)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self._check_packed(input, hx, batch_sizes)
        output, hidden = self._parts(self._call(input, batch_sizes, hx))
        returned = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return returned, self.permute_hidden(hidden, unsorted_indices)

    def _check_packed(self, input: Any, hx: Any, batch_sizes: Any) -> None:
        self.check_forward_args(input, hx, batch_sizes)

    def _given_hidden(self, input: Any, hx: Any, batched: bool) -> Any:
        if hx is not None:
            self._check_rank(hx, batched)
            hx = hx if batched else self._on_each(hx, lambda state: state.unsqueeze(1))
        else:
            hx = self._zeros(input, input.size(0) if self.batch_first else input.size(1))
        self.check_forward_args(input, hx, None)
        return hx

    def _check_rank(self, hx: Any, batched: bool) -> None:
        rank = 3 if batched else 2
        if hx.dim() != rank:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx should also be {rank}-D but got {hx.dim()}-D tensor")

    def _zeros(self, input: Any, batch: Any) -> Any:
        return self._new_state(input, batch, self.hidden_size)

    def _new_state(self, input: Any, batch: Any, features: int) -> Any:
        return torch.zeros(self.num_layers * self._directions, batch, features, dtype=input.dtype, device=input.device)

    def _call(self, input: Any, batch_sizes: Any, hx: Any) -> Any:
        function = getattr(_VF, self.mode.lower())
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            return function(input, hx, *options, self.batch_first)
        return function(input, batch_sizes, hx, *options)

    def _parts(self, result: Any) -> tuple[Any, Any]:
        return result[0], result[1]

    def _on_each(self, hidden: Any, function: Any) -> Any:
        return function(hidden)

    def extra_repr(self) -> str:
        """Return the sizes and the options that are not defaults, for the repr."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0}
        for name, value in {**usual, "bidirectional": False}.items():
            if getattr(self, name) != value:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


def _references(weights: list[Any]) -> list[Any]:
    return [weakref.ref(weight) if weight is not None else None for weight in weights]


def _check_dropout(dropout: Any, num_layers: int) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1:  # type: ignore[operator]
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )


def _check_options(module: Any) -> None:
    """Raise TypeError or ValueError for the first invalid option."""
    for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
        value = getattr(module, name)
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        if kind is int and value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if module.num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if module.proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if module.proj_size >= module.hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _refuse_projection(options: dict[str, Any]) -> None:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """A recurrent network with ``tanh`` or ``relu``. Raise ValueError for another nonlinearity."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory. Its hidden state is a pair."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """Return (layers and directions, batch, features)."""
        return self._expected(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Run all checks."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """Reorder the sequences."""
        return hx if permutation is None else self._on_each(hx, lambda state: state.index_select(1, permutation))

    def _check_packed(self, input: Any, hx: Any, batch_sizes: Any) -> None:
        """Do nothing: only the other networks check packed input."""

    def _check_rank(self, hx: Any, batched: bool) -> None:
        rank = 3 if batched else 2
        if hx[0].dim() != rank or hx[1].dim() != rank:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {rank}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) "
                "tensors"
            )

    def _zeros(self, input: Any, batch: Any) -> Any:
        features = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self._new_state(input, batch, features), self._new_state(input, batch, self.hidden_size)

    def _parts(self, result: Any) -> tuple[Any, Any]:
        return result[0], result[1:]

    def _on_each(self, hidden: Any, function: Any) -> Any:
        return function(hidden[0]), function(hidden[1])


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)
