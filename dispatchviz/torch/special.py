"""``torch.special``: the bindings of ``torch._C._special`` under their short names."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._C import _special
from dispatchviz.torch.missing_names import missing


def __getattr__(name: str) -> Any:
    found = getattr(_special, f"special_{name}", None)
    if found is None:
        raise missing(__name__, name)
    return found
