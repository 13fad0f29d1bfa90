"""The finalizers of ``weakref.finalize`` for a program, separate from those of the process.

Python runs the finalizers of a process once, when it ends. A program ends before its process does. Its own finalizers
run then, and no others.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import finalize

_STATE = ("_registry", "_shutdown", "_registered_with_atexit", "_dirty")
"""The attributes of the class: the finalizers, whether they have run, whether ``atexit`` runs them, whether there are
new ones.
"""


class _Registry(dict[Any, Any]):
    """The finalizers of a program. Earlier ones are found too, but they do not run at the program's end."""

    def __init__(self, outer: dict[Any, Any]) -> None:
        super().__init__()
        self._outer = outer

    def leave(self, package: str) -> None:
        """Leave the finalizers of a package's functions to the process."""
        for key, info in list(self.items()):
            if info.func.__module__.partition(".")[0] == package:
                self._outer[key] = super().pop(key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._outer

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, self._outer.get(key, default))

    def pop(self, key: Any, *default: Any) -> Any:
        return super().pop(key) if super().__contains__(key) else self._outer.pop(key, *default)


def left_to_process(package: str) -> None:
    """Leave the finalizers that a package has registered so far to the process, which uses it after the program."""
    registry = getattr(finalize, "_registry", None)
    if isinstance(registry, _Registry):
        registry.leave(package)


@contextmanager
def finalizers_apart() -> Iterator[None]:
    """Give the program finalizers of its own inside the block. They are registered with ``atexit`` again."""
    kept = {name: getattr(finalize, name) for name in _STATE}
    try:
        _set({**dict.fromkeys(_STATE, False), "_registry": _Registry(kept["_registry"])})
        yield
    finally:
        _set(kept)
        if kept["_registry"] and not kept["_registered_with_atexit"]:
            atexit.register(finalize._exitfunc)  # type: ignore[attr-defined]
            _set({"_registered_with_atexit": True})


def _set(state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(finalize, name, value)
