"""``torch.linalg``: the bindings of ``torch._C._linalg`` under their short names."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.native.linalg.matrix_checks import LinAlgError as LinAlgError
from dispatchviz.torch._C import _linalg
from dispatchviz.torch.missing_names import missing


def __getattr__(name: str) -> Any:
    found = getattr(_linalg, f"linalg_{name}", None)
    if found is None:
        raise missing(__name__, name)
    return found
