"""A name that a part of the face does not have says so, in whichever part it is looked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

_FACE = "dispatchviz."


def getter(name: str) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of a module, ``torch.nn``."""

    def missing(attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
        raise AttributeError(f"{name}.{attribute} is not in dispatchviz's model of PyTorch")

    return missing


def install() -> None:
    """For all parts that have been imported and do not answer themselves."""
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{_FACE}torch.") and "__getattr__" not in vars(module):
            members: dict[str, Any] = vars(module)
            members["__getattr__"] = getter(name.removeprefix(_FACE))
