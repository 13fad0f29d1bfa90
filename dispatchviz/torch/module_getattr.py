"""``__getattr__`` of the package's modules: names in modules not loaded yet, and names that the model lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dispatchviz.torch._lazy_modules import ATTRIBUTES, attribute_of, is_unloaded, names_of
from dispatchviz.torch.missing_names import missing

_MODEL = "dispatchviz."


def getter(module: ModuleType) -> Callable[[str], Any]:
    """For one module. The returned function raises the error of ``missing`` for unknown names."""
    elsewhere = ATTRIBUTES.get(module.__name__, {})

    def find(attribute: str) -> Any:
        if attribute in elsewhere:
            return attribute_of(module, attribute)
        raise missing(module.__name__, attribute)

    return find


def install() -> None:
    """For all parts that have been loaded and do not answer themselves."""
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{_MODEL}torch.") and not is_unloaded(module) and "__getattr__" not in vars(module):
            members: dict[str, Any] = vars(module)
            members["__getattr__"] = getter(module)
            if name in ATTRIBUTES:
                members["__dir__"] = lambda module=module: names_of(module)
