"""The rules of a package. Each module lists its own in ``RULES``."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def rules_in(folder: ModuleType) -> Iterator[Any]:
    """Yield the rules of the modules of a package, module by module."""
    for each in iter_modules(folder.__path__):
        yield from getattr(import_module(f"{folder.__name__}.{each.name}"), "RULES", ())
