"""Operators: ``X.call`` dispatches in full, ``X.redispatch`` takes the key set as it is.

In files by the first two letters of their names (``codegen/operators.py``); one is loaded when an operator of it is
first used. ``__init__.pyi`` tells type checkers where each is.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def home(identifier: str) -> str:
    """The module below this package with an operator's class: ``names_ad`` for ``add_Tensor`` and ``_addr``."""
    return f"names_{identifier.lstrip('_')[:2].lower()}"


def __getattr__(name: str) -> Any:
    try:
        found = globals()[name] = getattr(import_module(f"{__name__}.{home(name)}"), name)
    except (AttributeError, ModuleNotFoundError):
        raise AttributeError(f"no operator of ours has the class {name}") from None
    return found
