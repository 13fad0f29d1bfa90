"""``Linear``, ``Bilinear`` and ``Identity`` (``torch/nn/modules/linear.py``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn import init
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.parameter import new_parameter


class Identity(Module):
    """A module that returns its input and accepts any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input


class Linear(Module):
    """``input @ weight.T + bias``; weight has shape (out_features, in_features)."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        new_parameter(self, "weight", (out_features, in_features), device, dtype)
        new_parameter(self, "bias", out_features, device, dtype, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset weight and bias, uniform within 1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        reset_bias(self)

    def forward(self, input: Any) -> Any:
        """Input of any shape whose last dimension is in_features."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes for the repr."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def reset_bias(module: Any) -> None:
    """Reset the bias, uniform within 1 / sqrt(fan_in of the weight)."""
    if module.bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(module.weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(module.bias, -bound, bound)


class NonDynamicallyQuantizableLinear(Linear):
    """The Linear of ``MultiheadAttention.out_proj``, which quantization does not change."""


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for every output feature k."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        new_parameter(self, "weight", (out_features, in1_features, in2_features), device, dtype)
        new_parameter(self, "bias", out_features, device, dtype, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters, uniform within 1 / sqrt(in1_features). Raise ValueError unless in1_features is
        positive.
        """
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        """Two inputs whose leading dimensions agree."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes for the repr."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
