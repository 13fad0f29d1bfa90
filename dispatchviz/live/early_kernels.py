"""Python kernels that were registered before a recording began.

PyTorch does not give out the function of a Python kernel, and without it dispatchviz puts no kernel in front of it
(``python_kernels.py``). So a process that will record, such as a session of pytest, follows the registrations from the
beginning, at best before ``torch`` is imported. This module imports nothing of PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

_LIBRARY = "torch.library"
_NO_KEY = "CompositeImplicitAutograd"
"""The key of a registration without one."""


class Registered(NamedTuple):
    """A function that the program registered, and the ``id`` of its library's C++ object."""

    function: Callable[..., Any]
    with_keys: bool
    library: int


class EarlyKernels:
    """The functions by operator and key, newest first."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], list[Registered]] = {}
        self.followed = False
        """True while registrations are followed."""

    def registered(self, library: Any, name: Any, function: Any, key: Any, with_keys: bool) -> None:
        """Remember a kernel."""
        schema = getattr(name, "_schema", None)
        text = str(name) if schema is None else ".".join(filter(None, (schema.name, schema.overload_name)))
        operator = text if "::" in text else f"{library.ns}::{text}"
        key = key or library.dispatch_key or _NO_KEY
        new = Registered(function, with_keys, id(library.m))
        self.known.setdefault((operator, getattr(key, "name", key)), []).insert(0, new)

    def gone(self, library: int) -> None:
        """Forget the kernels of a library that is deleted."""
        for place, kernels in list(self.known.items()):
            kernels[:] = [one for one in kernels if one.library != library]
            if not kernels:
                del self.known[place]


EARLY = EarlyKernels()
"""Those of the process."""


@contextmanager
def early_kernels_followed() -> Iterator[None]:
    """Remember the kernels that Python registers inside the block, from the import of PyTorch on."""
    if EARLY.followed:
        yield
        return
    finder, EARLY.followed = _Finder(), True
    if _LIBRARY in sys.modules:
        finder.follow(sys.modules[_LIBRARY])
    else:
        sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        finder.stop()
        EARLY.followed = False
        EARLY.known.clear()


class _Finder(MetaPathFinder):
    """A finder that waits for the import of ``torch.library``."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that other finders have for ``torch.library``, with a loader that follows it."""
        if name != _LIBRARY:
            return None
        self._leave()
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Following(spec.loader, self.follow)
        return spec

    def follow(self, module: ModuleType) -> None:
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

    def stop(self) -> None:
        """Restore PyTorch's own functions."""
        self._leave()
        for owner, name, original in self._undo:
            setattr(owner, name, original)

    def _leave(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _Following(Loader):
    """A loader that calls a function with the module that another one has loaded."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Load the module, as if this loader did not exist, and call the function."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then(module)


def _noted(original: Callable[..., Any]) -> Callable[..., Any]:
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: Any = "", **options: Any) -> Any:
        __tracebackhide__ = True
        result = original(self, op_name, fn, dispatch_key, **options)
        EARLY.registered(self, op_name, fn, dispatch_key, bool(options.get("with_keyset")))
        return result

    return impl


def _forgotten(original: Callable[..., Any]) -> Callable[..., Any]:
    def reset(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        EARLY.gone(id(args[0]))
        return original(*args, **kwargs)

    return reset
