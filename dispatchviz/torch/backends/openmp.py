"""``torch.backends.openmp`` (``torch/backends/openmp/__init__.py``)."""

from __future__ import annotations


def is_available() -> bool:
    """Return True, as PyTorch for Linux does."""
    return True
