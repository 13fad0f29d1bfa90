"""Padding, and windows as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.torch._face import torch
from dispatchviz.torch.nn._sizes import repeated
from dispatchviz.torch.overrides import overridable


@overridable
def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Makes an input larger, the last dimension first."""
    return torch._C._nn.pad(input, pad, mode, value)


@overridable
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Every window of an image as a column."""
    sizes = [repeated(size, 2) for size in (kernel_size, dilation, padding, stride)]
    return torch._C._nn.im2col(input, *sizes)


@overridable
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns added up to an image."""
    sizes = [repeated(size, 2) for size in (output_size, kernel_size, dilation, padding, stride)]
    return torch._C._nn.col2im(input, *sizes)
