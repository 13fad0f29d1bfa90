"""``torch.library.Library``: a block of registrations from Python (``torch/library.py``).

Rule 1: kernels are boxed Python functions, and a library's registrations end with it.
Rule 2: libraries that a function creates for the user live as long as the process, or as the recorded program.

Not here: custom operators (``_library/custom_ops.py``), schemas from annotations (``_library/infer_schema.py``), and
the functions that take an operator by name (``_library/registration.py``).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.keys.keys import DispatchKey, parse_dispatch_key
from dispatchviz.core.python_side.python_kernels import fallthrough_kernel as fallthrough_kernel
from dispatchviz.torch import _C, _ops
from dispatchviz.torch._C.dispatch_module import alive as alive_modules
from dispatchviz.torch._library.fake_impl import fake_impl_of
from dispatchviz.torch._library.tagged_schemas import check_tagged
from dispatchviz.torch._ops import OpOverload
from dispatchviz.torch.tags import normalized, tags_of

_impls: set[str] = set()
"""The ``namespace/operator/key`` of every kernel that Python has registered and not removed."""

_reserved_namespaces = ["prim"]


class Library:
    """A block of registrations; ``kind`` is DEF, FRAGMENT or IMPL.

    Raise ValueError for another kind and a reserved namespace, RuntimeError with PyTorch's message if C++ refuses.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        frame = sys._getframe(1)
        self._open(ns, kind, dispatch_key, frame.f_code.co_filename, frame.f_lineno)

    @classmethod
    def made_at(cls, where: str, ns: str, kind: str = "FRAGMENT", dispatch_key: str = "") -> Library:
        """Create a library that PyTorch creates for the user, with the line of PyTorch that does it."""
        made = cls.__new__(cls)
        file, _, line = where.rpartition(":")
        made._open(ns, kind, dispatch_key, file, int(line))
        return made

    def _open(self, ns: str, kind: str, dispatch_key: str, file: str, line: int) -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _reserved_namespaces and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.m: _C._DispatchModule | None = _C._dispatch_library(kind, ns, dispatch_key, file, line)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._op_defs: set[str] = set()
        self._op_impls: set[str] = set()
        self._registration_handles: list[Callable[[], None]] = []
        """Further functions to call when the library is destroyed."""
        self._finalizer = weakref.finalize(
            self, _del_library, self.m, self._op_impls, self._op_defs, self._registration_handles
        )
        _alive.add(self)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    @property
    def _live(self) -> _C._DispatchModule:
        """The library in C++. Raise AssertionError once it is destroyed."""
        if self.m is None:
            raise AssertionError("Library object has been destroyed")
        return self.m

    # -- definitions --------------------------------------------------------------------------------------------------

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator and return its name without the overload.

        Raise RuntimeError for an invalid schema, a second definition, or an unknown kind of alias analysis.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        live = self._live
        given = normalized(tags)
        check_tagged(schema, given)
        result: str = live.define(schema, alias_analysis, given)
        self._note(f"{self.ns}::{schema.partition('(')[0].strip().rpartition('::')[2]}")
        return result

    def _note(self, name: str) -> None:
        self._op_defs.add(name)
        _ops.defined_in_python.add(name)
        _ops.refresh(name.partition(".")[0])

    # -- kernels ------------------------------------------------------------------------------------------------------

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a function for an operator under a key, by default under CompositeImplicitAutograd.

        ``with_keyset``: the first argument of the function is the received key set. Raise TypeError if the function is
        not callable, RuntimeError where PyTorch refuses.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key
        name = _resolve_op_name(op_name, "impl")
        short = name.rpartition("::")[2]
        noted = f"{self.ns}/{short}/{key}"
        if not allow_override and noted in _impls:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{short}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        if key == "Meta":
            _check_no_composite(name, self.ns)
        self._live.impl(name, parse_dispatch_key(key or "CompositeImplicitAutograd"), fn, with_keyset)
        _impls.add(noted)
        self._op_impls.add(noted)

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Register a function ``fn(op, *args, **kwargs)`` as a key's fallback; only in the namespace ``_``."""
        key = dispatch_key or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_" but it is '
                f"{self.ns}"
            )
        if not key:
            raise AssertionError("dispatch_key must not be empty for fallback")
        self._live.fallback(parse_dispatch_key(key), fn, with_keyset)

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], source: str = "", *, allow_override: bool = True
    ) -> None:
        """Register the function that runs for meta tensors; ``source`` is its place in errors."""
        qualname = f"{self.ns}::{op_name}"
        holder = fake_impl_of(qualname)
        if not allow_override:
            holder.check_first()
        kernel = holder.add(fn, source)
        try:
            self.impl(qualname, holder.meta_kernel(), "Meta", allow_override=allow_override)
        except Exception:
            holder.kernels.remove(kernel)
            raise
        self._registration_handles.append(lambda: holder.kernels.remove(kernel))

    # -- undoing ------------------------------------------------------------------------------------------------------

    def _destroy(self) -> None:
        """Undo all registrations. The library cannot be used afterwards."""
        self.m = None
        self._finalizer()


def _resolve_op_name(op_name: object, api_name: str) -> str:
    if isinstance(op_name, str):
        return op_name
    if isinstance(op_name, OpOverload):
        return op_name.name()
    raise RuntimeError(
        f"{api_name} should be passed either a name or an OpOverload object as the first argument, got {type(op_name)}"
    )


def _check_no_composite(name: str, namespace: str) -> None:
    full = name if "::" in name else f"{namespace}::{name}"
    if _C._dispatch_has_kernel_for_dispatch_key(full, DispatchKey.CompositeImplicitAutograd):
        raise RuntimeError(
            f"We should not register a meta kernel directly to the operator '{name}', because it has a "
            "CompositeImplicitAutograd kernel in core. Instead we should let the operator decompose, and ensure that "
            "we have meta kernels for the base ops that it decomposes into."
        )


_alive: weakref.WeakSet[Library] = weakref.WeakSet()


def _del_library(
    m: _C._DispatchModule, op_impls: set[str], op_defs: set[str], handles: list[Callable[[], None]]
) -> None:
    """Undo the registrations of a library. No reference to the library is kept, so this also runs when it is lost."""
    m.reset()
    for undo in handles:
        undo()
    handles.clear()
    _impls.difference_update(op_impls)
    for name in op_defs:
        _ops.defined_in_python.discard(name)
        tags_of.pop(name, None)
        _ops.forget(name)


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """Create a library and destroy it at the end of the block."""
    frame = sys._getframe(2)
    made = Library.__new__(Library)
    made._open(*_named(*args, **kwargs), frame.f_code.co_filename, frame.f_lineno)
    try:
        yield made
    finally:
        made._destroy()


def _named(ns: str, kind: str, dispatch_key: str = "") -> tuple[str, str, str]:
    return ns, kind, dispatch_key


@contextmanager
def registrations_undone() -> Iterator[None]:
    """Destroy libraries created in the block when it ends, so that the next program finds none of them."""
    libraries, modules = set(_alive), set(alive_modules)
    try:
        yield
    finally:
        for library in set(_alive) - libraries:
            library._destroy()
        for module in set(alive_modules) - modules:
            module.reset()
