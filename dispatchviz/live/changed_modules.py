"""Modules that are changed as soon as they are imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

Change = Callable[[ModuleType], None]
"""A function that changes a module."""


@contextmanager
def modules_changed(names: Collection[str], change: Change) -> Iterator[None]:
    """Change these modules inside the block: at once, or as soon as the import has executed them."""
    finder = _Finder(names, change)
    sys.meta_path.insert(0, finder)
    for name in names:
        if name in sys.modules:
            change(sys.modules[name])
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """A finder that gives the modules another loader."""

    def __init__(self, names: Collection[str], change: Change) -> None:
        self._waiting, self._change = set(names), change

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that other finders have for a module, with a loader that changes the module."""
        if name not in self._waiting:
            return None
        self._waiting.discard(name)
        try:
            spec = find_spec(name)
        finally:
            self._waiting.add(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, self._change)
        return spec


class _Changing(Loader):
    """A loader that changes the module that another one has loaded."""

    def __init__(self, loader: Any, change: Change) -> None:
        self._loader, self._change = loader, change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Load the module as if this loader did not exist, and change it."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._change(module)


# Python leaves the frames of its import system out of tracebacks, and counts none of them for a warning's stacklevel.
_PYTHONS = "<frozen importlib._bootstrap_external>"
_Changing.exec_module.__code__ = _Changing.exec_module.__code__.replace(co_filename=_PYTHONS)
