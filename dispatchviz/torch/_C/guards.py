"""The guards of ``torch._C``, and the thread's key sets (``torch/csrc/utils/python_dispatch.cpp``, ``python_raii.h``).

PyTorch binds its guards in two ways. The newer kind takes effect in ``with`` and may be entered again. The older kind
takes effect when it is created, and lasts until it is left or garbage collected.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from dispatchviz.core.bindings.pybind import bound
from dispatchviz.core.bindings.python_keys import DispatchKeySet
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.seam.deletion import NO_DELETION, Deletion, deletion
from dispatchviz.core.thread import guards
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.torch import python_keys

K = DispatchKey


class _ContextManager:
    """A context manager guard that takes effect in ``with``."""

    _made: AbstractContextManager[Any] | None = None

    def _guard(self) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._made = self._guard()
        self._made.__enter__()

    def __exit__(self, kind: Any, error: Any, at: Any) -> None:
        if self._made is not None:
            made, self._made = self._made, None
            made.__exit__(kind, error, at)


class _RAIIGuard(_ContextManager):
    """A RAII guard that takes effect when it is constructed."""

    __slots__ = ("__del__",)
    __del__: Deletion

    def __init__(self) -> None:
        super().__enter__()
        assert self._made is not None
        self.__del__ = deletion(partial(self._made.__exit__, None, None, None))

    def __enter__(self) -> None:
        """Do nothing: the guard is already in effect, or over."""

    def __exit__(self, kind: Any, error: Any, at: Any) -> None:
        self.__del__ = NO_DELETION
        super().__exit__(kind, error, at)


def _class(name: str, *types: str) -> str:
    arguments = "".join(f", arg{number}: torch._C.{type_}" for number, type_ in enumerate(types))
    return f"__init__(self: torch._C.{name}{arguments}) -> None"


class _ExcludeDispatchKeyGuard(_ContextManager):
    @bound(_class("_ExcludeDispatchKeyGuard", "DispatchKeySet"), "torch._C._ExcludeDispatchKeyGuard")
    def __init__(self, keys: Any) -> None:
        self._keys = keys.raw_repr()

    def _guard(self) -> AbstractContextManager[Any]:
        return guards.ExcludeDispatchKeyGuard(self._keys)


class ExcludeDispatchKeyGuard(_RAIIGuard):
    @bound(_class("ExcludeDispatchKeyGuard", "DispatchKeySet"), "torch._C.ExcludeDispatchKeyGuard")
    def __init__(self, keys: Any) -> None:
        self._keys = keys.raw_repr()
        super().__init__()

    def _guard(self) -> AbstractContextManager[Any]:
        return guards.ExcludeDispatchKeyGuard(self._keys)


class _IncludeDispatchKeyGuard(_ContextManager):
    @bound(_class("_IncludeDispatchKeyGuard", "DispatchKey"), "torch._C._IncludeDispatchKeyGuard")
    def __init__(self, key: DispatchKey) -> None:
        self._keys = KEY_BITS[key]

    def _guard(self) -> AbstractContextManager[Any]:
        return guards.IncludeDispatchKeyGuard(self._keys)


class _ForceDispatchKeyGuard(_ContextManager):
    @bound(_class("_ForceDispatchKeyGuard", "DispatchKeySet", "DispatchKeySet"), "torch._C._ForceDispatchKeyGuard")
    def __init__(self, included: Any, excluded: Any) -> None:
        self._sets = included.raw_repr(), excluded.raw_repr()

    def _guard(self) -> AbstractContextManager[Any]:
        return guards.ForceDispatchKeyGuard(*self._sets)


class _PreserveDispatchKeyGuard(_ContextManager):
    """A guard that restores the thread-local include and exclude sets on exit."""

    @bound(_class("_PreserveDispatchKeyGuard"), "torch._C._PreserveDispatchKeyGuard")
    def __init__(self) -> None:
        pass

    def _guard(self) -> AbstractContextManager[Any]:
        return guards.ForceDispatchKeyGuard()


class _SetExcludeDispatchKeyGuard(_ContextManager):
    """A guard that excludes or includes a key. Its exit queries the key and leaves the backend's bit behind."""

    @bound(
        "__init__(self: torch._C._SetExcludeDispatchKeyGuard, arg0: torch._C.DispatchKey, arg1: bool) -> None",
        "torch._C._SetExcludeDispatchKeyGuard",
    )
    def __init__(self, key: DispatchKey, excluded: bool) -> None:
        self._key, self._excluded = key, excluded

    def __enter__(self) -> None:
        self._before = _is_in(self._key, thread.state.excluded)
        guards.set_dispatch_key_excluded(self._key, self._excluded)

    def __exit__(self, kind: Any, error: Any, at: Any) -> None:
        guards.set_dispatch_key_excluded(self._key, self._before)


class _AutoDispatchBelowAutograd(_RAIIGuard):
    @bound(_class("_AutoDispatchBelowAutograd"), "torch._C._AutoDispatchBelowAutograd")
    def __init__(self) -> None:
        super().__init__()

    def _guard(self) -> AbstractContextManager[Any]:
        return guards.AutoDispatchBelowAutograd()


class _AutoDispatchBelowADInplaceOrView(_ContextManager):
    @bound(_class("_AutoDispatchBelowADInplaceOrView"), "torch._C._AutoDispatchBelowADInplaceOrView")
    def __init__(self) -> None:
        pass

    def _guard(self) -> AbstractContextManager[Any]:
        return guards.AutoDispatchBelowADInplaceOrView()


class _DisableTorchDispatch(_RAIIGuard):
    @bound(_class("_DisableTorchDispatch"), "torch._C._DisableTorchDispatch")
    def __init__(self) -> None:
        super().__init__()

    def _guard(self) -> AbstractContextManager[Any]:
        return python_keys._DisableTorchDispatch()


class _EnablePythonDispatcher(_RAIIGuard):
    @bound(_class("_EnablePythonDispatcher"), "torch._C._EnablePythonDispatcher")
    def __init__(self) -> None:
        super().__init__()

    def _guard(self) -> AbstractContextManager[Any]:
        return python_keys._EnablePythonDispatcher()


class _DisablePythonDispatcher(_RAIIGuard):
    @bound(_class("_DisablePythonDispatcher"), "torch._C._DisablePythonDispatcher")
    def __init__(self) -> None:
        super().__init__()

    def _guard(self) -> AbstractContextManager[Any]:
        return python_keys._DisablePythonDispatcher()


class _EnablePreDispatch(_ContextManager):
    @bound(_class("_EnablePreDispatch"), "torch._C._EnablePreDispatch")
    def __init__(self) -> None:
        pass

    def _guard(self) -> AbstractContextManager[Any]:
        return python_keys._EnablePreDispatch()


# -- the thread's sets ------------------------------------------------------------------------------------------------


def _is_in(key: DispatchKey, raw: int) -> bool:
    """Return whether all bits of the key are in the set. If AutogradCUDA is excluded, this denies that AutogradCPU is
    too.
    """
    return raw & KEY_BITS[key] == KEY_BITS[key]


@bound("_dispatch_tls_local_include_set() -> torch._C.DispatchKeySet")
def _dispatch_tls_local_include_set() -> DispatchKeySet:
    return DispatchKeySet.from_raw_repr(thread.state.included)


@bound("_dispatch_tls_local_exclude_set() -> torch._C.DispatchKeySet")
def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    return DispatchKeySet.from_raw_repr(thread.state.excluded)


@bound("_dispatch_tls_is_dispatch_key_included(arg0: c10::DispatchKey) -> bool")
def _dispatch_tls_is_dispatch_key_included(key: DispatchKey) -> bool:
    return _is_in(key, thread.state.included)


@bound("_dispatch_tls_is_dispatch_key_excluded(arg0: c10::DispatchKey) -> bool")
def _dispatch_tls_is_dispatch_key_excluded(key: DispatchKey) -> bool:
    return _is_in(key, thread.state.excluded)


@bound("_dispatch_tls_set_dispatch_key_included(arg0: c10::DispatchKey, arg1: bool) -> None")
def _dispatch_tls_set_dispatch_key_included(key: DispatchKey, included: bool) -> None:
    guards.set_dispatch_key_included(key, included)


@bound("_dispatch_tls_set_dispatch_key_excluded(arg0: c10::DispatchKey, arg1: bool) -> None")
def _dispatch_tls_set_dispatch_key_excluded(key: DispatchKey, excluded: bool) -> None:
    guards.set_dispatch_key_excluded(key, excluded)


@bound("_set_meta_in_tls_dispatch_include(arg0: bool) -> None")
def _set_meta_in_tls_dispatch_include(included: bool) -> None:
    guards.set_meta_in_tls_dispatch_include(included)


@bound("_meta_in_tls_dispatch_include() -> bool")
def _meta_in_tls_dispatch_include() -> bool:
    return _is_in(K.Meta, thread.state.included)
