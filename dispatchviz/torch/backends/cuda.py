"""``torch.backends.cuda``: how CUDA computes products (``torch/backends/cuda/__init__.py``). NB: it changes nothing."""

from __future__ import annotations

from types import SimpleNamespace

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
)


def is_built() -> bool:
    """The model always has CUDA."""
    return True
