"""``torch.backends.mps``: a device that the model does not have (``torch/backends/mps/__init__.py``)."""

from __future__ import annotations


def is_available() -> bool:
    """Return False."""
    return False


def is_built() -> bool:
    """Return False."""
    return False
