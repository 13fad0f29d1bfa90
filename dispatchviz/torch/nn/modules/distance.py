"""``PairwiseDistance`` and ``CosineSimilarity`` (``torch/nn/modules/distance.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn.modules.module import Module


class PairwiseDistance(Module):
    """The norm of the difference of two rows."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """Two inputs (N, D) or (D,)."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between two vectors along ``dim``."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Any, x2: Any) -> Any:
        """Two inputs that broadcast."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
