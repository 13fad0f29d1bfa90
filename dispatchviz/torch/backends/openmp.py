"""``torch.backends.openmp`` (``torch/backends/openmp/__init__.py``)."""

from __future__ import annotations


def is_available() -> bool:
    """PyTorch for Linux has it."""
    return True
