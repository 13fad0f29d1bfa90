"""``LazyLinear`` (``torch/nn/modules/linear.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.lazy import LazyModuleMixin
from dispatchviz.torch.nn.modules.linear import Linear


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose in_features is the length of the first input's last dimension."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = torch.nn.UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = torch.nn.UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Reset the parameters as Linear does, if they are initialized."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:
        """Set the shapes from the input. Raise AssertionError if a loaded weight has another shape."""
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]
