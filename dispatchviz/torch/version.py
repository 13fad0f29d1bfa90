"""``torch.version``: the release whose behavior the model has, linked with no CUDA library (``torch/version.py``)."""

from __future__ import annotations

__version__ = "2.13.0"
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
