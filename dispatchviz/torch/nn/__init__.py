"""``torch.nn``: Parameter alone.

NB: in PyTorch, here are modules, losses and initialisers.
"""

from __future__ import annotations

from typing import NoReturn

from dispatchviz.torch.nn.parameter import Parameter as Parameter


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.nn' has no attribute '{name}'")
    raise AttributeError(f"torch.nn.{name} is not in dispatchviz's model of PyTorch")
