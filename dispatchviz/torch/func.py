"""``torch.func``: function transforms. The model has ``vmap``."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._functorch.apis import vmap as vmap

__all__ = ["vmap"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch.func.{name} is not in dispatchviz's model of PyTorch; torch.func.vmap is")
