"""``torch.nn.modules``: every module class, by subject."""

from __future__ import annotations

from types import ModuleType

from dispatchviz.torch.nn.modules import _functions as _functions
from dispatchviz.torch.nn.modules import (
    activation,
    adaptive,
    attention,
    batchnorm,
    container,
    conv,
    conv_transpose,
    distance,
    dropout,
    flatten,
    fold,
    fractional_pooling,
    lazy_conv,
    lazy_linear,
    lazy_norm,
    linear,
    linear_losses,
    loss,
    normalization,
    padding,
    parameter_container,
    pixelshuffle,
    pooling,
    rnn,
    rnn_cells,
    sparse,
    transformer,
    unpooling,
    upsampling,
)
from dispatchviz.torch.nn.modules.module import Module

_SUBJECTS = (
    activation,
    adaptive,
    attention,
    batchnorm,
    container,
    conv,
    conv_transpose,
    distance,
    dropout,
    flatten,
    fold,
    fractional_pooling,
    lazy_conv,
    lazy_linear,
    lazy_norm,
    linear,
    loss,
    linear_losses,
    normalization,
    padding,
    parameter_container,
    pixelshuffle,
    pooling,
    rnn,
    rnn_cells,
    sparse,
    transformer,
    unpooling,
    upsampling,
)

_MODULES = {
    "lazy_conv": "conv",
    "lazy_linear": "linear",
    "lazy_norm": "batchnorm",
    "unpooling": "pooling",
    "fractional_pooling": "pooling",
    "attention": "activation",
    "conv_transpose": "conv",
    "parameter_container": "container",
    "rnn_cells": "rnn",
    "linear_losses": "loss",
}
"""Our module -> the PyTorch module that its classes claim to be from, if it differs."""

_INTERNAL = ("ConvNd", "NonDynamicallyQuantizableLinear")


def _classes(subject: ModuleType) -> dict[str, type]:
    """Return the public module classes defined in a module, after setting PyTorch's ``__module__``."""
    found = {
        name: value
        for name, value in vars(subject).items()
        if isinstance(value, type) and value.__module__ == subject.__name__
    }
    here = subject.__name__.rpartition(".")[2]
    for name, value in found.items():
        home = "instancenorm" if "InstanceNorm" in name else _MODULES.get(here, here)
        value.__module__ = f"torch.nn.modules.{home}"
    return {name: value for name, value in found.items() if not name.startswith("_") and name not in _INTERNAL}


Module.__module__ = "torch.nn.modules.module"
_public = {name: value for subject in _SUBJECTS for name, value in _classes(subject).items()}
globals().update(_public)

__all__ = ["Module", *_public]
