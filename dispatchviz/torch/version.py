"""``torch.version``: the release whose behavior the model has, linked with no CUDA library (``torch/version.py``)."""

from __future__ import annotations

from dispatchviz.foundation import pytorch_release as _release

__version__ = _release.RELEASE
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
