"""``torch.backends.mkl`` (``torch/backends/mkl/__init__.py``)."""

from __future__ import annotations


def is_available() -> bool:
    """PyTorch for x86 has it. NB: here NumPy computes."""
    return True
