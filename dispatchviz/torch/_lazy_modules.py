"""Lazily loaded modules: in ``sys.modules`` from the start, executed when first used.

An import of ``dispatchviz.torch`` puts an empty module into ``sys.modules`` for each name of the table, under which
everyone finds it as if it had been imported: ``from torch import distributions``, ``hasattr(torch, "fx")`` and
``"torch.jit" in sys.modules`` say what they say in PyTorch. The first use of an attribute runs the module's code.
``importlib.util.LazyLoader`` does the same, but loads a module already when it is imported a second time.

Rule: loading one runs no operator and registers neither operators nor kernels. It may happen in the middle of a
program that is recorded, in whatever mode, and the registrations of a program are undone at its end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from threading import RLock
from types import ModuleType
from typing import Any

_ROOT = "dispatchviz.torch"

NAMES = (
    *("_C._fft", "_C._linalg", "_C._special", "_dynamo", "_inductor"),
    *("accelerator", "distributed", "distributions", "func", "fx", "hub", "jit", "library"),
    *("masked", "profiler", "signal", "testing"),
    *("_lobpcg_bases", "_lobpcg_gradient", "_lobpcg_products"),
    *("autograd.functional", "autograd.gradcheck", "autograd.profiler"),
    *("nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune", "nn.utils.stateless"),
    *("optim._adafactor", "optim._muon", "optim.adadelta", "optim.adagrad", "optim.adamax", "optim.asgd"),
    *("optim.lbfgs", "optim.lr_scheduler", "optim.nadam", "optim.radam", "optim.rmsprop", "optim.rprop"),
    *("optim.swa_utils", "utils.benchmark", "utils.checkpoint", "utils.data"),
)
"""Below ``torch``. The package that one belongs to imports it like any other."""

ATTRIBUTES: dict[str, dict[str, str]] = {
    f"{_ROOT}.autograd": {"gradcheck": "autograd.gradcheck", "gradgradcheck": "autograd.gradcheck"},
    f"{_ROOT}.optim": {
        "ASGD": "optim.asgd",
        "Adadelta": "optim.adadelta",
        "Adafactor": "optim._adafactor",
        "Adagrad": "optim.adagrad",
        "Adamax": "optim.adamax",
        "LBFGS": "optim.lbfgs",
        "Muon": "optim._muon",
        "NAdam": "optim.nadam",
        "RAdam": "optim.radam",
        "RMSprop": "optim.rmsprop",
        "Rprop": "optim.rprop",
    },
}
"""Names of a package that stand in one of these modules: package -> name -> module below ``torch``."""

when_loaded: list[Callable[[], object]] = []
"""Called after a module of the table has been loaded, with all that it imported."""

_KNOWN = frozenset(
    ("__name__", "__spec__", "__loader__", "__package__", "__file__", "__cached__", "__class__", "__warningregistry__")
)
"""Attributes that the import system and the warnings module ask every module for: they load nothing. Not
``__path__``: an import of a submodule loads the package first, as it always does."""

_lock = RLock()
_loading: set[ModuleType] = set()


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


def is_unloaded(module: ModuleType) -> bool:
    """Whether the module's code has not run yet."""
    return type(module) is _UnloadedModule


def attribute_of(package: ModuleType, name: str) -> Any:
    """The value of a name of ``ATTRIBUTES``, which becomes an attribute of the package. KeyError for other names."""
    module = sys.modules[f"{_ROOT}.{ATTRIBUTES[package.__name__][name]}"]
    value = vars(package)[name] = getattr(module, name)
    return value


def names_of(package: ModuleType) -> list[str]:
    """``dir`` of a package, with the names that it has in modules not loaded yet."""
    return sorted({*vars(package), *ATTRIBUTES.get(package.__name__, ())})


def install() -> None:
    """Puts the modules of the table into ``sys.modules``."""
    for name in NAMES:
        sys.modules.setdefault(f"{_ROOT}.{name}", _unloaded(name))


def _unloaded(name: str) -> ModuleType:
    module = module_from_spec(_spec(name))
    module.__class__ = _UnloadedModule
    return module


def _spec(name: str) -> ModuleSpec:
    path = os.path.join(os.path.dirname(__file__), *name.split("."))
    package = os.path.isdir(path)
    file, locations = (os.path.join(path, "__init__.py"), [path]) if package else (f"{path}.py", None)
    spec = spec_from_file_location(f"{_ROOT}.{name}", file, submodule_search_locations=locations)
    assert spec is not None
    return spec


def _load(module: ModuleType) -> None:
    """Runs the module's code. Another thread that uses it meanwhile waits; what it imports in a circle sees as much
    of it as there is."""
    with _lock:
        if not is_unloaded(module) or module in _loading:
            return
        _loading.add(module)
        try:
            spec = module.__spec__
            assert spec is not None
            assert spec.loader is not None
            spec.loader.exec_module(module)
            module.__class__ = ModuleType
        finally:
            _loading.discard(module)
    for adapt in when_loaded:
        adapt()


install()
