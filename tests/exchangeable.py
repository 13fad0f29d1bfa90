"""The functions and values that the model may replace while it runs."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any


def exchangeable() -> dict[str, Any]:
    """Return functions and plain values of our modules, and functions of classes in them and in ``threading``."""
    found: dict[str, Any] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(("dispatchviz.core", "dispatchviz.torch")) or name == "threading":
            for key, value in list(vars(module).items()):
                if isinstance(value, FunctionType | bool | int | str | None):
                    found[f"{name}.{key}"] = value
                elif isinstance(value, type) and value.__module__ == name:
                    found |= {
                        f"{name}.{key}.{method}": function
                        for method, function in list(vars(value).items())
                        if isinstance(function, FunctionType)
                    }
    return found
