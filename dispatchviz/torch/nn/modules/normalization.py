"""``LayerNorm``, ``GroupNorm``, ``RMSNorm``, ``LocalResponseNorm``, ``CrossMapLRN2d``
(``torch/nn/modules/normalization.py``)."""

from __future__ import annotations

import numbers
from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn import init
from dispatchviz.torch.nn.modules import _functions
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.parameter import new_parameter


class _NeighboringChannelsNorm(Module):
    def __init__(self, size: int, alpha: float, beta: float, k: float) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        """Return the constants for the repr."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_NeighboringChannelsNorm):
    """Divide by the neighboring channels' squares."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Any) -> Any:
        """Input with batch and channel dimensions and at least one more."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_NeighboringChannelsNorm):
    """Divide by the neighboring channels' squares, for images, by a Function of its own."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W)."""
        return _functions.CrossMapLRN2d.apply(input, self.size, self.alpha, self.beta, self.k)


def _reset(module: Any) -> None:
    """Reset the weight to 1 and the bias to 0, if they exist."""
    init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


def _shape(given: Any) -> tuple[int, ...]:
    return (given,) if isinstance(given, numbers.Integral) else tuple(given)  # type: ignore[return-value]


class LayerNorm(Module):
    """Normalize to mean 0 and variance 1 over the last dimensions, then apply weight and bias of their shape."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        new_parameter(self, "weight", self.normalized_shape, device, dtype, elementwise_affine)
        new_parameter(self, "bias", self.normalized_shape, device, dtype, elementwise_affine and bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the weight to 1 and the bias to 0."""
        if self.elementwise_affine:
            _reset(self)

    def forward(self, input: Any) -> Any:
        """Input whose last dimensions are ``normalized_shape``."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the shape and the options for the repr."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalize to mean 0 and variance 1 over groups of channels. Raise ValueError for groups that do not divide the
    channels.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        new_parameter(self, "weight", num_channels, device, dtype, affine)
        new_parameter(self, "bias", num_channels, device, dtype, affine and bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the weight to 1 and the bias to 0."""
        if self.affine:
            _reset(self)

    def forward(self, input: Any) -> Any:
        """Input (N, num_channels, ...)."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the sizes and the options for the repr."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root of the mean square over the last dimensions, then multiply by a weight."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        new_parameter(self, "weight", self.normalized_shape, device, dtype, elementwise_affine)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the weight to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Any) -> Any:
        """Input whose last dimensions are ``normalized_shape``."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the shape and the options for the repr."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
