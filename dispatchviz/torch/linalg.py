"""``torch.linalg``: the bindings of ``torch._C._linalg`` under their short names."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.native.linalg.matrix_checks import LinAlgError as LinAlgError
from dispatchviz.torch._C import _linalg


def __getattr__(name: str) -> Any:
    found = getattr(_linalg, f"linalg_{name}", None)
    if found is None:
        raise AttributeError(f"torch.linalg.{name} is not in dispatchviz's model of PyTorch")
    return found
