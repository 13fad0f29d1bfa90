"""The names of PyTorch's modules, and of the model's."""

from __future__ import annotations

PACKAGES = ("torch", "functorch")

MODEL = "dispatchviz."
"""The beginning of the names of the model's modules: ``dispatchviz.torch.nn`` is its ``torch.nn``."""


def is_torch(name: str) -> bool:
    """Return whether a name such as ``torch.nn.Linear`` belongs to PyTorch."""
    return name.partition(".")[0] in PACKAGES


def is_model(name: str) -> bool:
    """Return whether a module of this name is a part of the model."""
    return name.startswith(MODEL) and is_torch(name.removeprefix(MODEL))
