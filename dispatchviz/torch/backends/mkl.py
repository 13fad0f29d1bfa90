"""``torch.backends.mkl`` (``torch/backends/mkl/__init__.py``)."""

from __future__ import annotations


def is_available() -> bool:
    """Return True, as PyTorch for x86 does. NB: here NumPy computes."""
    return True
