"""``torch.jit.annotations``: Python types that scripts import from here (``torch/jit/annotations.py``)."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035  the names in PyTorch

from dispatchviz.core.tensor.tensor import Tensor

__all__ = ["Any", "Dict", "List", "Optional", "Tensor", "Tuple", "Union"]
