"""Pooling (``torch/nn/modules/pooling.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn._ntuple import ntuple
from dispatchviz.torch.nn.modules.module import Module


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _pool(self, function: Any, input: Any) -> Any:
        options = {"ceil_mode": self.ceil_mode, "return_indices": self.return_indices}
        return function(input, self.kernel_size, self.stride, self.padding, self.dilation, **options)

    def extra_repr(self) -> str:
        """Return the window for the repr."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of a sequence."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, L) or (C, L)."""
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of an image."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W) or (C, H, W)."""
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of a volume."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, D, H, W) or (C, D, H, W)."""
        return self._pool(F.max_pool3d, input)


class _AvgPoolNd(Module):
    def extra_repr(self) -> str:
        """Return the window for the repr."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of a sequence."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, 1)
        self.stride = ntuple(stride if stride is not None else kernel_size, 1)
        self.padding = ntuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Any) -> Any:
        """Input (N, C, L) or (C, L)."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(_AvgPoolNd):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _pool(self, function: Any, input: Any) -> Any:
        window = (self.kernel_size, self.stride, self.padding)
        return function(input, *window, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AvgPool2d(_AvgPool):
    """The mean of each window of an image."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W) or (C, H, W)."""
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPool):
    """The mean of each window of a volume."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, D, H, W) or (C, D, H, W)."""
        return self._pool(F.avg_pool3d, input)


class _LPPoolNd(Module):
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        if norm_type == 0:
            raise ValueError(f"norm_type must be a non-zero value, but got {norm_type}")
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _pool(self, function: Any, input: Any) -> Any:
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """Return the norm and the window for the repr."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of a sequence."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, L) or (C, L)."""
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of an image."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W) or (C, H, W)."""
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of a volume."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, D, H, W) or (C, D, H, W)."""
        return self._pool(F.lp_pool3d, input)


class _AdaptivePoolNd(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Return the size for the repr."""
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maxima of a given number of windows of a sequence."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, L) or (C, L)."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maxima of a given number of windows of an image."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W) or (C, H, W)."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maxima of a given number of windows of a volume."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, D, H, W) or (C, D, H, W)."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptivePoolNd):
    """The means of a given number of windows of a sequence."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, L) or (C, L)."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptivePoolNd):
    """The means of a given number of windows of an image."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W) or (C, H, W)."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptivePoolNd):
    """The means of a given number of windows of a volume."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, D, H, W) or (C, D, H, W)."""
        return F.adaptive_avg_pool3d(input, self.output_size)
