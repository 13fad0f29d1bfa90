"""``Conv1d`` to ``3d`` (``torch/nn/modules/conv.py``). The transposed ones are in ``conv_transpose.py``."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn import init
from dispatchviz.torch.nn._ntuple import ntuple, reverse_repeat
from dispatchviz.torch.nn.modules.linear import reset_bias
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.parameter import new_parameter

_PADDING_STRINGS = {"same", "valid"}
_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class ConvNd(Module):
    """Base class of convolutions; sizes are tuples with one entry per spatial dimension."""

    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        _check_padding(padding, padding_mode, stride)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _both_sides(padding, kernel_size, dilation)
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        new_parameter(self, "weight", (*channels, *kernel_size), device, dtype)
        new_parameter(self, "bias", out_channels, device, dtype, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset weight and bias, uniform within 1 / sqrt(fan_in)."""
        with torch.no_grad():
            if self.weight.is_contiguous():
                init.kaiming_uniform_(self.weight, a=math.sqrt(5))
            else:  # the values shall not depend on the memory format
                values = torch.empty_like(self.weight, memory_format=torch.contiguous_format)
                init.kaiming_uniform_(values, a=math.sqrt(5))
                self.weight.copy_(values)
            reset_bias(self)

    def extra_repr(self) -> str:
        """Return the sizes and the options that are not defaults, for the repr."""
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}",
            *(
                f"{name}={getattr(self, name)}"
                for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0))
                if getattr(self, name) != (usual,) * len(getattr(self, name))
            ),
        ]
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")


def _check_padding(padding: Any, mode: str, stride: tuple[int, ...]) -> None:
    if isinstance(padding, str):
        if padding not in _PADDING_STRINGS:
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {_PADDING_STRINGS}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{mode}'")


def _both_sides(padding: Any, kernel_size: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """Return the padding as ``F.pad`` takes it."""
    if not isinstance(padding, str):
        return reverse_repeat(padding, 2)
    totals = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel_size, strict=False)]
    return [part for total in reversed(totals) for part in (total // 2, total - total // 2)]


class _Conv(ConvNd):
    """A convolution that slides over ``_dimensions`` dimensions."""

    _dimensions: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        count = self._dimensions
        kernel, step, dilations = (ntuple(size, count) for size in (kernel_size, stride, dilation))
        around = padding if isinstance(padding, str) else ntuple(padding, count)
        rest = (groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel, step, around, dilations, False, (0,) * count, *rest)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self._dimensions - 1]
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dimensions
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        """Input (N, in_channels, ...) or (in_channels, ...)."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution over sequences (N, C, L). Raise ValueError for invalid groups or padding."""

    _dimensions = 1


class Conv2d(_Conv):
    """Convolution over images (N, C, H, W). Raise ValueError for invalid groups or padding."""

    _dimensions = 2


class Conv3d(_Conv):
    """Convolution over volumes (N, C, D, H, W). Raise ValueError for invalid groups or padding."""

    _dimensions = 3
