"""New, uninitialised parameters of modules."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch


def new_parameter(module: Any, name: str, size: Any, device: Any, dtype: Any, wanted: bool = True) -> None:
    """An uninitialised Parameter as an attribute, or None in its place."""
    if wanted:
        setattr(module, name, torch.nn.Parameter(torch.empty(size, device=device, dtype=dtype)))
    else:
        module.register_parameter(name, None)
