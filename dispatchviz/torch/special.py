"""``torch.special``: the bindings of ``torch._C._special`` under their short names."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._C import _special


def __getattr__(name: str) -> Any:
    found = getattr(_special, f"special_{name}", None)
    if found is None:
        raise AttributeError(f"torch.special.{name} is not in dispatchviz's model of PyTorch")
    return found
