"""Dropout (``torch/nn/modules/dropout.py``), which does nothing unless ``training`` is true."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn.modules.module import Module


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the probability of a zero, for the repr."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero single elements and scale the others. Raise ValueError for p outside [0, 1]."""

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero whole channels of sequences."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, L) or (C, L)."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero whole channels of images."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W) or (N, C, L)."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero whole channels of volumes."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, D, H, W) or (C, D, H, W)."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance, for networks of SELUs."""

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Dropout of whole channels that keeps mean and variance."""

    def forward(self, input: Any) -> Any:
        """Input with a channel dimension."""
        return F.feature_alpha_dropout(input, self.p, self.training)
