"""``skip_init``: modules with uninitialized parameters (``torch/nn/utils/init.py``)."""

from __future__ import annotations

import inspect
from typing import Any

from dispatchviz.torch._namespace import torch


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a module with uninitialized memory. Raise RuntimeError for a class that is not a module, or lacks the
    parameter ``device``.
    """
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)
