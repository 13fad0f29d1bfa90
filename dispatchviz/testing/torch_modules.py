"""Modules named ``torch``: the model's, and those of an installed PyTorch."""

from __future__ import annotations

from importlib.util import find_spec
from types import ModuleType

MODEL = "dispatchviz.torch"
"""The name of the model's own module."""


def has_pytorch() -> bool:
    """Return whether there is a PyTorch to import. A module without a spec is a test's own substitute."""
    try:
        return find_spec("torch") is not None
    except ValueError:
        return False


def is_model(value: object) -> bool:
    """Return whether a value is a module of the model, under whichever name it was imported."""
    return isinstance(value, ModuleType) and _is_within(value.__name__, MODEL)


def is_installed_pytorch(value: object) -> bool:
    """Return whether a value is a module of the installed PyTorch."""
    return isinstance(value, ModuleType) and _is_within(value.__name__, "torch")


def _is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")
