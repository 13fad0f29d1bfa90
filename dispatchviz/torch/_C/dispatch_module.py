"""``torch._C._dispatch_library``: libraries from Python, and kernels that tests of the dispatcher register.

Mirrors ``_DispatchModule`` of ``torch/csrc/utils/python_dispatch.cpp``. The registrations of a library are removed with
the object, or by ``reset``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.kernels.not_implemented_fallback import autograd_not_implemented_inplace_or_view_fallback
from dispatchviz.core.bindings import pybind
from dispatchviz.core.bindings.pybind import NoFit, bound
from dispatchviz.core.kernel.cpp_signature import T_T
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey, parse_dispatch_key
from dispatchviz.core.python_side.python_kernels import fallthrough, fallthrough_kernel, python_kernel
from dispatchviz.core.schema.schema_parser import parse_name, parse_schema
from dispatchviz.core.seam.deletion import Deletion, deletion
from dispatchviz.core.table.library import Library
from dispatchviz.core.thread import warning
from dispatchviz.torch._ops import overload_of
from dispatchviz.torch.tags import Tag, tags_of

_KINDS_OF_ALIAS_ANALYSIS = {
    "": "FROM_SCHEMA",
    "CONSERVATIVE": "CONSERVATIVE",
    "FROM_SCHEMA": "FROM_SCHEMA",
    "PURE_FUNCTION": "PURE_FUNCTION",
}


def _tags(value: Any) -> tuple[Tag, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(tag, Tag) for tag in value):
        raise NoFit
    return tuple(value)


pybind.CONVERTERS["collections.abc.Sequence[torch._C.Tag]"] = _tags


def _key(name: str) -> DispatchKey | None:
    return parse_dispatch_key(name) if name else None


def _alias_analysis(text: str) -> str:
    if text not in _KINDS_OF_ALIAS_ANALYSIS:
        raise RuntimeError(f"could not parse {text}")
    return _KINDS_OF_ALIAS_ANALYSIS[text]


def _returns_its_argument(helper: str, debug: str) -> Kernel:
    """Return a typed kernel from a tensor to itself. Kernels of one helper share one function."""
    return Kernel(helper, lambda ks, tensor: tensor, debug, cpp=T_T, pointer=helper)


alive: weakref.WeakSet[_DispatchModule] = weakref.WeakSet()
"""All libraries that are still alive."""


class _DispatchModule:
    """A library. Methods that return it can be chained."""

    __module__ = "torch._C"

    __slots__ = ("__del__", "__weakref__", "_debug", "_library")
    __del__: Deletion
    _library: Library
    _debug: str

    def __init__(self, *_: object) -> None:
        raise TypeError("torch._C._DispatchModule: No constructor defined!")

    @bound("reset(self: object) -> None")
    def reset(self) -> None:
        self._library.reset()

    # -- definitions

    @bound("def_(self: object, schema: str, alias: str = '') -> object")
    def def_(self, schema: str, alias: str = "") -> _DispatchModule:
        self._library.def_(schema, alias_analysis=_alias_analysis(alias))
        return self

    @bound("def_legacy(self: object, schema: str) -> object")
    def def_legacy(self, schema: str) -> _DispatchModule:
        self._library.def_(schema, alias_analysis="CONSERVATIVE (default)")
        return self

    @bound(
        "define(self: object, schema: str, alias_analysis: str = '', "
        "tags: collections.abc.Sequence[torch._C.Tag] = []) -> str"
    )
    def define(self, schema: str, alias_analysis: str = "", tags: Any = ()) -> str:
        """Define an operator and return its name as written, without the overload."""
        op = self._library.def_(schema, alias_analysis=_alias_analysis(alias_analysis))
        if tags:
            tags_of[op.name] = list(tags)
        return parse_name(schema.partition("(")[0]).name

    @bound("def_name_t_t(self: object, name: str, dispatch: str = '', debug: str = 'default_def_name_t_t') -> object")
    def def_name_t_t(self, name: str, dispatch: str = "", debug: str = "") -> _DispatchModule:
        key = _key(dispatch)
        self._library.def_(name, _returns_its_argument("def_name_t_t", debug or self._debug), key)
        return self

    @bound(
        "def_schema_t_t(self: object, name: str, dispatch: str = '', alias: str = '', "
        "debug: str = 'default_def_schema_t_t') -> object"
    )
    def def_schema_t_t(self, name: str, dispatch: str = "", alias: str = "", debug: str = "") -> _DispatchModule:
        key, kind = _key(dispatch), _alias_analysis(alias)
        parse_schema(name, trusted=False)  # the name alone is not enough here
        self._library.def_(name, _returns_its_argument("def_schema_t_t", debug or self._debug), key, kind)
        return self

    # -- kernels

    @bound("impl_t_t(self: object, name: str, dispatch: str = '', debug: str = 'impl_t_t') -> object")
    def impl_t_t(self, name: str, dispatch: str = "", debug: str = "") -> _DispatchModule:
        key = _key(dispatch)
        self._library.impl(name, _returns_its_argument("impl_t_t", debug or self._debug), key)
        return self

    @bound("impl(self: object, name: str, dispatch: c10::DispatchKey, func: object, with_keyset: bool = False) -> None")
    def impl(self, name: str, dispatch: DispatchKey, func: Callable[..., Any], with_keyset: bool = False) -> None:
        with warning.as_python():
            self._library.impl(name, self._kernel(func, with_keyset), dispatch)

    def _kernel(self, function: Callable[..., Any], with_keyset: bool, with_op: bool = False) -> Kernel:
        if function is fallthrough_kernel:
            return fallthrough(self._debug)
        return python_kernel(function, self._debug, with_keyset, overload_of if with_op else None)

    @bound("register_ad_inplace_or_view_fallback(self: object, name: str) -> None")
    def register_ad_inplace_or_view_fallback(self, name: str) -> None:
        fallback = autograd_not_implemented_inplace_or_view_fallback
        kernel = Kernel(fallback.__name__, fallback, self._debug, boxed=True, pointer=fallback)
        self._library.impl(name, kernel, DispatchKey.ADInplaceOrView)

    # -- fallbacks

    @bound("fallback_fallthrough(self: object, dispatch: str = '') -> object")
    def fallback_fallthrough(self, dispatch: str = "") -> _DispatchModule:
        self._library.fallback(fallthrough(self._debug), _key(dispatch))
        return self

    @bound("fallback(self: object, dispatch: c10::DispatchKey, func: object, with_keyset: bool = False) -> None")
    def fallback(self, dispatch: DispatchKey, func: Callable[..., Any], with_keyset: bool = False) -> None:
        with warning.as_python():
            self._library.fallback(self._kernel(func, with_keyset, with_op=True), dispatch)


@bound(
    "_dispatch_library(kind: str, name: str, dispatch: str, file: str = '/dev/null', "
    "linenum: typing.SupportsInt | typing.SupportsIndex = 0) -> torch._C._DispatchModule"
)
def _dispatch_library(kind: str, name: str, dispatch: str, file: str = "", linenum: int = 0) -> _DispatchModule:
    """Create a library. Raise RuntimeError for an unknown kind or key, and for arguments that the kind does not
    allow.
    """
    key = _key(dispatch)
    made = _DispatchModule.__new__(_DispatchModule)
    made._library = Library(kind, name, key, where=f"{file}:{linenum}")
    made.__del__ = deletion(made._library.reset)
    made._debug = f"registered at {file}:{linenum}"
    alive.add(made)
    return made


@bound("_dispatch_clear_leaked_python_filenames() -> None")
def _dispatch_clear_leaked_python_filenames() -> None:
    """Do nothing: the model leaks no file names."""
