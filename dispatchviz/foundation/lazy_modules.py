"""Modules that are in ``sys.modules`` from the start and executed on first use.

``install`` puts an empty module into ``sys.modules`` for each name. Importers find it as if it had been imported:
``from torch import distributions``, ``hasattr(torch, "fx")`` and ``"torch.jit" in sys.modules`` behave as in PyTorch.
The first use of an attribute runs the module's code. ``importlib.util.LazyLoader`` does the same, but already loads a
module when it is imported a second time.

Rule: loading a module runs no operator and registers neither operators nor kernels. It may happen in the middle of a
recorded program, in any mode, and a program's registrations are undone at its end.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from threading import RLock
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_KNOWN = frozenset(
    ("__name__", "__spec__", "__loader__", "__package__", "__file__", "__cached__", "__class__", "__warningregistry__")
)
"""Attributes that the import system and the warnings module read from every module, so they load nothing. ``__path__``
is not one: an import of a submodule loads the package first, as always.
"""

_locks: dict[ModuleType, RLock] = {}
"""A lock for each module that is not loaded, so that threads that load different modules do not wait for each other."""
_loading: set[ModuleType] = set()
_when_loaded: dict[ModuleType, Callable[[], object]] = {}


class _UnloadedModule(ModuleType):
    def __getattribute__(self, name: str) -> Any:
        if name not in _KNOWN:
            _load(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _KNOWN:
            _load(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _load(self)
        ModuleType.__delattr__(self, name)


class _UnloadedFolder(_UnloadedModule):
    """A package that contains only a docstring. Using one of its modules does not load it."""

    def __getattribute__(self, name: str) -> Any:
        members = ModuleType.__getattribute__(self, "__dict__")
        if name in members and name != "__doc__":
            return members[name]
        return _UnloadedModule.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        ModuleType.__setattr__(self, name, value)


def is_unloaded(module: ModuleType) -> bool:
    """Return whether the module's code has not run yet."""
    return issubclass(type(module), _UnloadedModule)


def install(package: str, names: Iterable[str], when_loaded: Callable[[], object] | None = None) -> None:
    """Put modules below a package into ``sys.modules``. The package that a module belongs to imports it like any other.

    ``when_loaded`` is called after a module has been loaded, with everything that it imported.
    """
    root = os.path.dirname(sys.modules[package].__file__ or "")
    for name in names:
        path = os.path.join(root, *name.split("."))
        module = _unloaded(f"{package}.{name}", path, _UnloadedModule, is_package=os.path.isdir(path))
        if when_loaded is not None:
            _when_loaded[module] = when_loaded
        sys.modules.setdefault(module.__name__, module)


def install_all_in(package: str, folders: bool = True) -> None:
    """Install all modules of a package and of its subpackages, whose own ``__init__`` contain only a docstring."""
    found = sys.modules[package]
    _install_folder(vars(found), package, os.path.dirname(found.__file__ or ""), folders)


def _install_folder(members: dict[str, Any], package: str, path: str, folders: bool = True) -> None:
    for entry in os.scandir(path):
        name, dot, suffix = entry.name.partition(".")
        if dot and suffix == "py" and name != "__init__":
            module = _unloaded(f"{package}.{name}", f"{path}{os.sep}{name}", _UnloadedModule)
        elif folders and not dot and name != "__pycache__":
            module = _unloaded(f"{package}.{name}", entry.path, _UnloadedFolder, is_package=True)
            _install_folder(ModuleType.__getattribute__(module, "__dict__"), f"{package}.{name}", entry.path)
        else:
            continue
        members[name] = sys.modules[f"{package}.{name}"] = module


def _unloaded(name: str, path: str, kind: type[_UnloadedModule], is_package: bool = False) -> ModuleType:
    file = os.path.join(path, "__init__.py") if is_package else f"{path}.py"
    loader = SourceFileLoader(name, file)
    spec = spec_from_file_location(name, file, loader=loader, submodule_search_locations=[path] if is_package else None)
    assert spec is not None
    module = module_from_spec(spec)
    module.__class__ = kind
    _locks[module] = RLock()
    return module


def _load(module: ModuleType) -> None:
    """Run the module's code. Other threads wait for it; a circular import sees the part that has run so far."""
    with _locks.get(module) or RLock():
        if not is_unloaded(module) or module in _loading:
            return
        _loading.add(module)
        try:
            spec: ModuleSpec | None = module.__spec__
            assert spec is not None
            assert spec.loader is not None
            spec.loader.exec_module(module)
            if is_unloaded(module):
                module.__class__ = ModuleType
        finally:
            _loading.discard(module)
        _locks.pop(module, None)
    if (adapt := _when_loaded.pop(module, None)) is not None:
        adapt()
