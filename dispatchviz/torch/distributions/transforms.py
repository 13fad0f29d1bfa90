"""``torch.distributions.transforms``: functions of numbers and of vectors (``torch/distributions/transforms.py``).

NB: in PyTorch, there are also ``CatTransform``, ``StackTransform``, ``CorrCholeskyTransform`` and
``CumulativeDistributionTransform``.
"""

from __future__ import annotations

from dispatchviz.torch.distributions.compose_reshape_transforms import ComposeTransform as ComposeTransform
from dispatchviz.torch.distributions.compose_reshape_transforms import IndependentTransform as IndependentTransform
from dispatchviz.torch.distributions.compose_reshape_transforms import ReshapeTransform as ReshapeTransform
from dispatchviz.torch.distributions.compose_reshape_transforms import identity_transform as identity_transform
from dispatchviz.torch.distributions.elementwise_transforms import AbsTransform as AbsTransform
from dispatchviz.torch.distributions.elementwise_transforms import AffineTransform as AffineTransform
from dispatchviz.torch.distributions.elementwise_transforms import ExpTransform as ExpTransform
from dispatchviz.torch.distributions.elementwise_transforms import PowerTransform as PowerTransform
from dispatchviz.torch.distributions.elementwise_transforms import SigmoidTransform as SigmoidTransform
from dispatchviz.torch.distributions.elementwise_transforms import SoftplusTransform as SoftplusTransform
from dispatchviz.torch.distributions.elementwise_transforms import TanhTransform as TanhTransform
from dispatchviz.torch.distributions.transform_base import Transform as Transform
from dispatchviz.torch.distributions.vector_transforms import LowerCholeskyTransform as LowerCholeskyTransform
from dispatchviz.torch.distributions.vector_transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from dispatchviz.torch.distributions.vector_transforms import SoftmaxTransform as SoftmaxTransform
from dispatchviz.torch.distributions.vector_transforms import StickBreakingTransform as StickBreakingTransform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
