"""Python kernels that were registered before a recording began.

PyTorch does not give out the function of a Python kernel, and without it dispatchviz puts no kernel in front of it
(``python_kernels.py``). So a process that will record, such as a session of pytest, follows the registrations from the
beginning, at best before ``torch`` is imported. This module imports nothing of PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from types import ModuleType
from typing import Any, NamedTuple

from dispatchviz.live.changed_modules import modules_changed

_LIBRARY = "torch.library"
_NO_KEY = "CompositeImplicitAutograd"
"""The key of a registration without one."""


class Registered(NamedTuple):
    """A function that the program registered, and the ``id`` of its library's C++ object."""

    function: Callable[..., Any]
    with_keys: bool
    library: int


Known = dict[tuple[str, str], list[Registered]]
"""Functions by operator and key, newest first."""


class KernelFunctions:
    """The functions that Python registered as kernels."""

    def __init__(self, known: Mapping[tuple[str, str], Sequence[Registered]]) -> None:
        self.known: Known = {place: list(functions) for place, functions in known.items()}

    def registered(self, operator: str, key: str, new: Registered) -> None:
        """Remember a kernel."""
        self.known.setdefault((operator, key), []).insert(0, new)

    def gone(self, library: int) -> None:
        """Forget the kernels of a library that is deleted."""
        for place, functions in list(self.known.items()):
            functions[:] = [one for one in functions if one.library != library]
            if not functions:
                del self.known[place]


class EarlyKernels(KernelFunctions):
    """The functions that this process registered since registrations are followed."""

    followed = False
    """True while registrations are followed."""


EARLY = EarlyKernels({})
"""Those of the process."""


def operator_of(library: Any, named: Any) -> str:
    """Return the full name of an operator, given the library that registers it and its name or ``OpOverload``."""
    name = str(getattr(named, "_name", named))
    return name if "::" in name else f"{library.ns}::{name}"


def key_of(library: Any, key: Any) -> str:
    """Return the name of a registration's key, given the library that registers and the key, its name, or nothing."""
    key = key or library.dispatch_key or _NO_KEY
    return str(getattr(key, "name", key))


@contextmanager
def early_kernels_followed() -> Iterator[None]:
    """Remember the kernels that Python registers inside the block, from the import of PyTorch on."""
    if EARLY.followed:
        yield
        return
    following, EARLY.followed = _Following(), True
    try:
        with modules_changed([_LIBRARY], following.begin):
            yield
    finally:
        following.end()
        EARLY.followed = False
        EARLY.known.clear()


class _Following:
    """The functions of PyTorch that are replaced."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []

    def begin(self, module: ModuleType) -> None:
        """Follow the registrations of the module ``torch.library``."""
        library = getattr(module, "Library", None)
        modules = getattr(getattr(sys.modules.get("torch"), "_C", None), "_DispatchModule", None)
        if library is not None and modules is not None:
            self._replace(library, "impl", _noted)
            self._replace(modules, "reset", _forgotten)

    def _replace(self, owner: Any, name: str, made: Callable[[Any], Any]) -> None:
        original = vars(owner)[name]
        setattr(owner, name, wraps(original)(made(original)))
        self._undo.append((owner, name, original))

    def end(self) -> None:
        """Restore PyTorch's own functions."""
        for owner, name, original in self._undo:
            setattr(owner, name, original)


def _noted(original: Callable[..., Any]) -> Callable[..., Any]:
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: Any = "", **options: Any) -> Any:
        __tracebackhide__ = True
        result = original(self, op_name, fn, dispatch_key, **options)
        new = Registered(fn, bool(options.get("with_keyset")), id(self.m))
        EARLY.registered(operator_of(self, op_name), key_of(self, dispatch_key), new)
        return result

    return impl


def _forgotten(original: Callable[..., Any]) -> Callable[..., Any]:
    def reset(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        EARLY.gone(id(args[0]))
        return original(*args, **kwargs)

    return reset
