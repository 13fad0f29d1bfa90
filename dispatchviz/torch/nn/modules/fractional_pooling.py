"""Fractional max pooling (``torch/nn/modules/pooling.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn._ntuple import ntuple
from dispatchviz.torch.nn.modules.module import Module


class _FractionalMaxPoolNd(Module):
    _dims: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, self._dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else ntuple(output_size, self._dims)
        self.output_ratio = None if output_ratio is None else ntuple(output_ratio, self._dims)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"FractionalMaxPool{self._dims}d requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _pool(self, function: Any, input: Any) -> Any:
        sizes = (self.kernel_size, self.output_size, self.output_ratio)
        return function(input, *sizes, self.return_indices, _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The maximum of each window of an image. Raise ValueError unless a size or a ratio is given."""

    _dims = 2

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W) or (C, H, W)."""
        return self._pool(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The maximum of each window of a volume. Raise ValueError unless a size or a ratio is given."""

    _dims = 3

    def __init__(self, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        if min(ntuple(kernel_size, 1), default=1) <= 0:
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        super().__init__(kernel_size, *args, **kwargs)

    def forward(self, input: Any) -> Any:
        """Input (N, C, D, H, W) or (C, D, H, W)."""
        return self._pool(F.fractional_max_pool3d, input)
