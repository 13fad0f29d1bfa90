"""``MaxUnpool1d`` to ``3d`` (``torch/nn/modules/pooling.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn._ntuple import ntuple
from dispatchviz.torch.nn.modules.module import Module


class _MaxUnpoolNd(Module):
    _dims = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, self._dims)
        self.stride = ntuple(kernel_size if stride is None else stride, self._dims)
        self.padding = ntuple(padding, self._dims)

    def extra_repr(self) -> str:
        """Return the window for the repr."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Zeros with each maximum of a sequence at the index where ``MaxPool1d`` found it."""

    _dims = 1

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """Input (N, C, L) or (C, L), and the indices of ``return_indices=True``."""
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Zeros with each maximum of an image at the index where ``MaxPool2d`` found it."""

    _dims = 2

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """Input (N, C, H, W) or (C, H, W), and the indices of ``return_indices=True``."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Zeros with each maximum of a volume at the index where ``MaxPool3d`` found it."""

    _dims = 3

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """Input (N, C, D, H, W) or (C, D, H, W), and the indices of ``return_indices=True``."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)
