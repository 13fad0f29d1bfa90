"""``torch.backends.cpu``: for which processor kernels are chosen."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The one whose rounding and random numbers are modeled."""
    return "AVX2"
