"""``torch.distributions.transforms``: functions of numbers and of vectors (``torch/distributions/transforms.py``).

NB: in PyTorch, there are also ``CatTransform``, ``StackTransform``, ``CorrCholeskyTransform`` and
``CumulativeDistributionTransform``.
"""

from __future__ import annotations

from dispatchviz.torch.distributions.transform import Transform as Transform
from dispatchviz.torch.distributions.transform_of_others import ComposeTransform as ComposeTransform
from dispatchviz.torch.distributions.transform_of_others import IndependentTransform as IndependentTransform
from dispatchviz.torch.distributions.transform_of_others import ReshapeTransform as ReshapeTransform
from dispatchviz.torch.distributions.transform_of_others import identity_transform as identity_transform
from dispatchviz.torch.distributions.transforms_of_numbers import AbsTransform as AbsTransform
from dispatchviz.torch.distributions.transforms_of_numbers import AffineTransform as AffineTransform
from dispatchviz.torch.distributions.transforms_of_numbers import ExpTransform as ExpTransform
from dispatchviz.torch.distributions.transforms_of_numbers import PowerTransform as PowerTransform
from dispatchviz.torch.distributions.transforms_of_numbers import SigmoidTransform as SigmoidTransform
from dispatchviz.torch.distributions.transforms_of_numbers import SoftplusTransform as SoftplusTransform
from dispatchviz.torch.distributions.transforms_of_numbers import TanhTransform as TanhTransform
from dispatchviz.torch.distributions.transforms_of_vectors import LowerCholeskyTransform as LowerCholeskyTransform
from dispatchviz.torch.distributions.transforms_of_vectors import PositiveDefiniteTransform as PositiveDefiniteTransform
from dispatchviz.torch.distributions.transforms_of_vectors import SoftmaxTransform as SoftmaxTransform
from dispatchviz.torch.distributions.transforms_of_vectors import StickBreakingTransform as StickBreakingTransform

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
