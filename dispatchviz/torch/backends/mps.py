"""``torch.backends.mps``: there is no such device here (``torch/backends/mps/__init__.py``)."""

from __future__ import annotations


def is_available() -> bool:
    """It never is."""
    return False


def is_built() -> bool:
    """It never is."""
    return False
