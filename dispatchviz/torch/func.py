"""``torch.func``: function transforms. The model has ``vmap`` and ``grad``."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._functorch.apis import grad as grad
from dispatchviz.torch._functorch.apis import grad_and_value as grad_and_value
from dispatchviz.torch._functorch.apis import vmap as vmap

__all__ = ["grad", "grad_and_value", "vmap"]


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"torch.func.{name} is not in dispatchviz's model of PyTorch; it has grad, grad_and_value and vmap"
    )
