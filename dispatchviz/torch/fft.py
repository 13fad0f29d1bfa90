"""``torch.fft``: the bindings of ``torch._C._fft`` under their short names."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._C import _fft


def __getattr__(name: str) -> Any:
    found = getattr(_fft, f"fft_{name}", None)
    if found is None:
        raise AttributeError(f"torch.fft.{name} is not in dispatchviz's model of PyTorch")
    return found
