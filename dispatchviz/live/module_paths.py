"""The modules of a program that a condition such as ``module=layers.0`` selects. Each module is checked once, when it
is first called.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from types import FrameType
from typing import Any

from dispatchviz.running.call_sites import is_users
from dispatchviz.running.held_tensors import held_by, is_module


class ModulePaths:
    """The selected modules among those that were called, and the paths of all of them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._known: dict[int, tuple[weakref.ref[Any], bool]] = {}
        self._paths: dict[int, tuple[weakref.ref[Any], str, weakref.ref[Any]]] = {}
        """The path of each module from the outermost module that was called, and that module, by the ``id`` of the
        module.
        """
        self.met: dict[str, None] = {}
        """The paths or classes of the modules that were called, in order."""

    def selects(self, module: Any, frame: FrameType) -> bool:
        """Return whether a module, which a frame calls, is selected."""
        known = self._known.get(id(module))
        return self._look_at(module, frame) if known is None else known[1]

    def path(self, module: Any) -> str:
        """Return the path of a module from the outermost module that was called; empty for that one."""
        known = self._paths.get(id(module))
        return "" if known is None or known[0]() is not module else known[1]

    def _look_at(self, module: Any, frame: FrameType) -> bool:
        key, kind = id(module), type(module).__name__
        if key not in self._paths:
            self._read(module)
        path, outermost = self._paths[key][1:] if key in self._paths else ("", weakref.ref(module))
        selected = any(name == kind or _is_end(path, name) for name in self._names)
        if not selected:
            selected = _is_variable(outermost(), list(_variables(self._names, path)), frame)
        self._known[key] = weakref.ref(module, partial(self._known.pop, key)), selected
        self.met[path or kind] = None
        return selected

    def _read(self, outermost: Any) -> None:
        """Note the paths of all modules within a module."""
        for path, one in held_by(outermost, lambda _: False) if is_module(outermost) else ():
            if is_module(one) and (path or one is outermost):
                key = id(one)
                own = weakref.ref(one, partial(self._paths.pop, key))
                self._paths[key] = own, path.removeprefix("."), weakref.ref(outermost)


def _variables(names: Sequence[str], path: str) -> Iterator[str]:
    """Yield what is in front of the path of a module in each name: ``net`` in ``net.layers.0`` for ``layers.0``."""
    for name in names:
        if not path:
            yield name
        elif name.endswith(f".{path}"):
            yield name.removesuffix(f".{path}")


def _is_variable(module: Any, names: Sequence[str], frame: FrameType | None) -> bool:
    """Return whether a variable or attribute with one of the names (``net``, ``self.net``) holds a module. The
    variables are those of the program's functions that run.
    """
    while frame is not None:
        if is_users(frame.f_code) and any(_value(frame, name) is module for name in names):
            return True
        frame = frame.f_back
    return False


def _value(frame: FrameType, name: str) -> Any:
    """Return what a variable or an attribute of it holds, or None. It does not run code of the program."""
    variable, *attributes = name.split(".")
    value = frame.f_locals.get(variable)
    for attribute in attributes:
        own = vars(value).get("_modules", {}) if is_module(value) else {}
        value = own.get(attribute) or inspect.getattr_static(value, attribute, None)
    return value


def _is_end(path: str, name: str) -> bool:
    """Return whether a name is the path of a module or the end of one."""
    return bool(path) and (path == name or path.endswith(f".{name}"))
