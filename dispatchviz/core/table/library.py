"""Registration: libraries define operators and register kernels for keys (``torch/library.h``,
``ATen/core/library.cpp``).

Libraries write to a registry (``registry.py``), by default that of the process. Resetting a library undoes exactly what
it registered, in any order.

Not here: the checks of kernels and definitions (``registration_checks.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import ALIAS_MEMBERS, RUNTIME_KEYS, DispatchKey
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.schema_parser import parse_name, parse_schema
from dispatchviz.core.seam import recorder
from dispatchviz.core.table import registration_errors
from dispatchviz.core.table.operator_entry import CONSERVATIVE, FROM_SCHEMA, OperatorEntry
from dispatchviz.core.table.registration_checks import check_definition, check_kernel, warn_of_overriding
from dispatchviz.core.table.registry import Registry as Registry
from dispatchviz.core.table.registry import process as process

K = DispatchKey

BLOCKS = {"DEF": "TORCH_LIBRARY", "FRAGMENT": "TORCH_LIBRARY_FRAGMENT", "IMPL": "TORCH_LIBRARY_IMPL"}
"""Kinds of libraries, and the C++ macro that PyTorch's errors name them by."""

WILDCARD = "_"
"""The namespace of libraries that register fallbacks."""

NO_NAMESPACE = "std::nullopt"
"""The text of an empty namespace in errors."""


operators = process.operators
fallbacks = process.fallbacks


class Library:
    """One block of registrations. ``kind`` is DEF, FRAGMENT or IMPL. Refusals are RuntimeErrors with PyTorch's text."""

    def __init__(
        self, kind: str, namespace: str, key: DispatchKey | None = None, registry: Registry = process, where: str = ""
    ) -> None:
        """Create a library. Raise RuntimeError for a wildcard, key or second DEF that is not allowed, and for an
        unknown kind.
        """
        if kind not in BLOCKS:
            raise RuntimeError(f"could not parse {kind}")
        self.kind = kind
        self.namespace = namespace
        self.key = _none_if_catch_all(key)
        self.registry = registry
        self.where = where or _caller()
        """The place of the code that created it, FILE:LINE."""
        self._undo: dict[int, Callable[[], None]] = {}
        self._numbers = count()
        if kind != "IMPL":
            self._check_definer()

    # -- checks -------------------------------------------------------------------------------------------------------

    @property
    def _block(self) -> str:
        return BLOCKS[self.kind]

    def _error(self, text: str, **fields: object) -> RuntimeError:
        namespace = NO_NAMESPACE if self.namespace == WILDCARD else self.namespace
        common = {"block": self._block, "where": self.where, "namespace": namespace, "key": self.key}
        return RuntimeError(text.format(**common | fields))

    def _error_here(self, text: str, **fields: object) -> RuntimeError:
        return self._error(text + registration_errors.ERROR_LOCATION, **fields)

    def _check_definer(self) -> None:
        if self.namespace == WILDCARD:
            definition = self.kind == "DEF"
            raise (
                self._error(registration_errors.WILDCARD_DEF)
                if definition
                else self._error_here(registration_errors.WILDCARD_FRAGMENT)
            )
        if self.kind == "DEF":
            self._own_namespace()
        if self.key is not None:
            self.reset()
            raise self._error_here(registration_errors.KEY_OF_DEFINER)

    def _own_namespace(self) -> None:
        previous = self.registry.owners.get(self.namespace)
        if previous is not None:
            raise self._error(registration_errors.SECOND_DEF, previous=previous)
        self.registry.owners[self.namespace] = self.where
        self._add_undo(self._disown)

    def _disown(self) -> None:
        del self.registry.owners[self.namespace]

    # -- definitions --------------------------------------------------------------------------------------------------

    def def_(
        self,
        schema: str,
        kernel: Kernel | None = None,
        key: DispatchKey | None = None,
        alias_analysis: str = FROM_SCHEMA,
    ) -> OperatorEntry:
        """Define an operator and, with a kernel, implement it too (``Library::def``).

        The name alone is enough for a kernel whose C++ signature is known: the schema is inferred from it. Raise
        SchemaError for a malformed schema. If the kernel is refused, the definition remains.
        """
        if kernel is not None and "(" not in schema:
            parsed, alias_analysis = self._inferred(schema, kernel), CONSERVATIVE
        else:
            parsed = parse_schema(schema, trusted=False)
        op = self._define(parsed, alias_analysis)
        if kernel is not None:
            self._register(op, self.key if _none_if_catch_all(key) is None else key, kernel)
        return op

    def _inferred(self, name: str, kernel: Kernel) -> FunctionSchema:
        parsed = parse_name(name)
        if kernel.cpp is None:
            raise self._error_here(registration_errors.NO_SCHEMA_TO_INFER, name=name)
        return kernel.cpp.schema_named(parsed.name, parsed.overload)

    def _define(self, declared: FunctionSchema, alias_analysis: str) -> OperatorEntry:
        if self.kind == "IMPL":
            raise self._error_here(registration_errors.DEF_IN_IMPL, name=declared.full_name)
        if declared.namespace not in ("", self.namespace):
            raise self._error_here(registration_errors.NAMESPACE_OF_DEF, provided=declared.namespace)
        schema = declared if declared.namespace else declared.named(f"{self.namespace}::{declared.name}")
        debug = f"registered at {self.where}"
        op = self.registry.get(schema.full_name)
        if op is not None:
            self._check_definition(op, schema, debug)
        op = self.registry.entry(schema.full_name)
        op.define(schema, debug, alias_analysis)
        self._add_undo(lambda: self._undefine(op))
        if recorder.active is not None:
            recorder.active.operator_defined(op)
        return op

    def _check_definition(self, op: OperatorEntry, schema: FunctionSchema, debug: str) -> None:
        if op.has_schema:
            raise self._error(registration_errors.DEFINED_TWICE, schema=schema, original=op.debug)
        check_definition(op, schema, debug)

    def _undefine(self, op: OperatorEntry) -> None:
        op.define(None)
        self.registry.forget_if_empty(op)

    # -- kernels ------------------------------------------------------------------------------------------------------

    def impl(self, name: str, kernel: Kernel, key: DispatchKey | None = None) -> Callable[[], None]:
        """Register a kernel. Without a key it is a catch-all and stored under CompositeImplicitAutograd.

        ``name`` may have the namespace and an overload. Return a function that removes the kernel.
        """
        full_name, chosen = self._full_name(name), self._chosen_key(name, key)
        return self._register(self.registry.entry(full_name), chosen, kernel)

    def _register(self, op: OperatorEntry, key: DispatchKey | None, kernel: Kernel) -> Callable[[], None]:
        check_kernel(op, key, kernel)
        stored = K.CompositeImplicitAutograd if key is None else key
        overrides = stored in op.registrations
        op.table  # noqa: B018  computed here, so that a change recomputes only what PyTorch recomputes
        if recorder.active is not None:
            recorder.active.kernel_registered(op, stored, kernel, False)
        op.register(stored, kernel, catch_all=key is None)
        undo = self._add_undo(lambda: self._deregister(op, stored, kernel))
        if overrides:
            warn_of_overriding(op, key, kernel)
        return undo

    def _full_name(self, name: str) -> str:
        parsed = parse_name(name)
        namespace, colons, _ = parsed.name.rpartition("::")
        if colons and namespace != self.namespace:
            raise self._error_here(registration_errors.NAMESPACE_OF_IMPL, name=name, provided=namespace)
        if not colons and self.namespace == WILDCARD:
            # NB: in PyTorch, the process ends here
            raise RuntimeError(f'impl("{name}", ...): a library of the wildcard namespace _ implements no operators')
        return str(parsed) if colons else f"{self.namespace}::{parsed}"

    def _chosen_key(self, name: str, requested: DispatchKey | None) -> DispatchKey | None:
        requested = _none_if_catch_all(requested)
        if requested is not None and self.key is not None and requested != self.key:
            raise self._error_here(registration_errors.KEY_OF_IMPL, name=name, provided=requested)
        return self.key if requested is None else requested

    def _deregister(self, op: OperatorEntry, key: DispatchKey, kernel: Kernel) -> None:
        if recorder.active is not None:
            recorder.active.kernel_registered(op, key, kernel, True)
        op.deregister(key, kernel)
        self.registry.forget_if_empty(op)

    # -- fallbacks ----------------------------------------------------------------------------------------------------

    def fallback(self, kernel: Kernel, key: DispatchKey | None = None) -> None:
        """Register a backend fallback; for an alias, one for each runtime key that it includes."""
        if self.kind != "IMPL":
            raise self._error_here(registration_errors.FALLBACK_OUTSIDE_IMPL)
        fallback_key = _none_if_catch_all(key) or self.key
        if fallback_key is None:
            raise self._error_here(registration_errors.NO_KEY_FOR_FALLBACK)
        if self.namespace != WILDCARD:
            raise self._error_here(registration_errors.FALLBACK_IN_NAMESPACE, key=fallback_key)
        for runtime in _runtime_keys(fallback_key):
            self._register_fallback(runtime, kernel)

    def _register_fallback(self, key: DispatchKey, kernel: Kernel) -> None:
        previous = self.registry.fallbacks.get(key)
        if previous is not None and key != K.AutogradPrivateUse1:  # out-of-tree backends bring their own
            raise self._error(registration_errors.SECOND_FALLBACK, key=key, previous=previous.debug, new=kernel.debug)
        if recorder.active is not None:
            recorder.active.kernel_registered(None, key, kernel, False)
        self.registry.set_fallback(key, kernel)
        self._add_undo(lambda: self._remove_fallback(key, kernel))

    def _remove_fallback(self, key: DispatchKey, kernel: Kernel) -> None:
        if recorder.active is not None:
            recorder.active.kernel_registered(None, key, kernel, True)
        self.registry.set_fallback(key, None)

    # -- undoing ------------------------------------------------------------------------------------------------------

    def _add_undo(self, undo: Callable[[], None]) -> Callable[[], None]:
        """Store the function that undoes a registration. Return a function that calls it once."""
        number = next(self._numbers)
        self._undo[number] = undo
        return lambda: self._undo.pop(number, _nothing)()

    def reset(self) -> None:
        """Undo the registrations of this library, in the order in which it made them."""
        while self._undo:
            self._undo.pop(next(iter(self._undo)))()


def _nothing() -> None:
    """Do nothing, since the registration is undone already."""


def _none_if_catch_all(key: DispatchKey | None) -> DispatchKey | None:
    """Return None for Undefined, which means no key at all."""
    return None if key == K.Undefined else key


def _runtime_keys(key: DispatchKey) -> Iterator[DispatchKey]:
    """The runtime keys of a key. A building block (Dense) has none: a registration for it reaches no entry."""
    members = ALIAS_MEMBERS.get(key, (key,))
    return (runtime for runtime in RUNTIME_KEYS if runtime in members)


def _caller() -> str:
    """The file and line of the code that creates a library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
