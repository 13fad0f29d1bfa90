"""The import hook that makes ``import torch`` mean ``dispatchviz.torch`` for a while, in the running program and in its
imports.

Modules that were imported before under these names are restored afterwards. Modules that the program imported are
forgotten, so that the next program finds the interpreter in the same state.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from dispatchviz.running.call_sites import is_users_file
from dispatchviz.running.torch_names import MODEL, is_model, is_torch
from dispatchviz.torch._lazy_modules import when_loaded
from dispatchviz.torch.missing_names import install, missing_module

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # importing the real one loads ten more modules


@contextmanager
def torch_is_the_model() -> Iterator[None]:
    """Let ``torch`` and all modules below it be the model's inside the block."""
    before = dict(sys.modules)
    finder = _Finder()
    _forget_torch()
    sys.meta_path.insert(0, finder)
    when_loaded.append(_count_as_imported)
    try:
        yield
    finally:
        when_loaded.remove(_count_as_imported)
        sys.meta_path.remove(finder)
        _forget_torch()
        sys.modules.update({name: module for name, module in before.items() if is_torch(name)})


def stay_the_model() -> None:
    """Let ``torch`` and all modules below it be the model's for the rest of the process."""
    _forget_torch()
    sys.meta_path.insert(0, _Finder())
    when_loaded.append(_count_as_imported)


@contextmanager
def modules_forgotten(folder: str) -> Iterator[None]:
    """Forget the user's modules that are first imported inside the block from a folder or below it, so that they are
    imported again the next time.
    """
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            file = str(getattr(sys.modules[name], "__file__", None) or "")
            if file.startswith(folder) and is_users_file(file):
                del sys.modules[name]


def _forget_torch() -> None:
    for name in [name for name in sys.modules if is_torch(name)]:
        del sys.modules[name]


class _Finder:
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for a module of torch that the model does not have."""
        if not is_torch(name):
            return None
        found = importlib.util.find_spec(MODEL + name)
        if found is None:
            raise missing_module(name)
        return ModuleSpec(name, _Loader(), is_package=found.submodule_search_locations is not None)


class _Loader(Loader):
    """A loader that returns the model's own module, on which the import system must leave no mark."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(MODEL + spec.name)
        self._own = {name: vars(module)[name] for name in _MARKS if name in vars(module)}
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Count all parts that came along as imported."""
        vars(module).update(self._own)
        install()
        _count_as_imported()


def _count_as_imported() -> None:
    """Mark all present parts of the model as imported. Otherwise importing ``torch.nn.utils.weight_norm`` would put the
    module under the name of the function.
    """
    for name, part in list(sys.modules.items()):
        if is_model(name):
            sys.modules.setdefault(name.removeprefix(MODEL), part)


_MARKS = ("__name__", "__spec__", "__loader__", "__package__", "__path__", "__file__", "__cached__")
