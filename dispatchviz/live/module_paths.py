"""Which modules of a program a condition such as ``module=layers.0`` selects. Each module is looked at once, when it is
first called.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

from dispatchviz.running.held_tensors import held_by, is_module


class ModulePaths:
    """The selected modules among those that were called, and the paths of all of them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._known: dict[int, tuple[weakref.ref[Any], bool]] = {}
        self._paths: dict[int, tuple[weakref.ref[Any], str]] = {}
        """The path of each module from the outermost module that was called, by the ``id`` of the module."""
        self.met: dict[str, None] = {}
        """The paths or classes of the modules that were called, in order."""

    def selects(self, module: Any) -> bool:
        """Return whether a module is selected."""
        known = self._known.get(id(module))
        return self._look_at(module) if known is None else known[1]

    def path(self, module: Any) -> str:
        """Return the path of a module from the outermost module that was called; empty for that one."""
        known = self._paths.get(id(module))
        return "" if known is None or known[0]() is not module else known[1]

    def _look_at(self, module: Any) -> bool:
        key, kind = id(module), type(module).__name__
        if key not in self._paths:
            self._read(module)
        path = self._paths[key][1] if key in self._paths else ""
        selected = any(name == kind or _is_end(path, name) for name in self._names)
        self._known[key] = weakref.ref(module, partial(self._known.pop, key)), selected
        self.met[path or kind] = None
        return selected

    def _read(self, outermost: Any) -> None:
        """Note the paths of all modules within a module."""
        for path, one in held_by(outermost, lambda _: False) if is_module(outermost) else ():
            if is_module(one) and (path or one is outermost):
                key = id(one)
                self._paths[key] = weakref.ref(one, partial(self._paths.pop, key)), path.removeprefix(".")


def _is_end(path: str, name: str) -> bool:
    """Return whether a name is the path of a module, or the end of one, or has a variable in front: ``net.layers.0``."""
    return bool(path) and (path == name or path.endswith(f".{name}") or name.endswith(f".{path}"))
