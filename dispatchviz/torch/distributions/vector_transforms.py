"""Transforms of vectors and matrices (``torch/distributions/transforms.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.elementwise_transforms import ParameterFreeTransform, clipped_sigmoid


def _need_dimensions(shape: Any, count: int = 1) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


class SoftmaxTransform(ParameterFreeTransform):
    """``softmax(x)``; its inverse is the logarithm."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape unchanged. Raise ValueError for the shape of a single number."""
        _need_dimensions(shape)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(ParameterFreeTransform):
    """Stick breaking: fractions that sum to 1, one more than there are inputs."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Any) -> Any:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        z = clipped_sigmoid(x - offset.log())
        rest = (1 - z).cumprod(-1)
        pad = torch.nn.functional.pad
        return pad(z, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        fractions = y[..., :-1]
        offset = y.shape[-1] - y.new_ones(fractions.shape[-1]).cumsum(-1)
        rest = 1 - fractions.cumsum(-1)
        rest = torch.clamp(rest, min=torch.finfo(y.dtype).tiny)
        return fractions.log() - rest.log() + offset.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the log determinant, from all fractions but the last."""
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        x = x - offset.log()
        return (-x + torch.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape with one element more. Raise ValueError for the shape of a single number."""
        _need_dimensions(shape)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape with one element less. Raise ValueError for the shape of a single number."""
        _need_dimensions(shape)
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(ParameterFreeTransform):
    """A lower triangular matrix with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(ParameterFreeTransform):
    """A lower triangular matrix with a positive diagonal, times its transpose."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))
