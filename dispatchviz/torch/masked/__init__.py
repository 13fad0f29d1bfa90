"""``torch.masked``: reductions and normalizations under a mask (``torch/masked/__init__.py``).

NB: there are no ``MaskedTensor``s. The functions take plain tensors with ``mask=``.
"""

from __future__ import annotations

from dispatchviz.torch.masked import reductions as _reductions
from dispatchviz.torch.masked.mean_var_std import mean, std, var
from dispatchviz.torch.masked.normalizations import (
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    normalize,
    softmax,
    softmin,
)
from dispatchviz.torch.masked.reductions import amax, amin, argmax, argmin, logsumexp, median, norm, prod

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

sum = _reductions.sum
