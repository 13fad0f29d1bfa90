"""``torch.backends.cpu``: the processor that kernels are chosen for."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """Return the CPU capability whose rounding and random numbers the model reproduces."""
    return "AVX2"
