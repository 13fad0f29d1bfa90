"""Registration: libraries define operators and put kernels under keys (``torch/library.h``, ``ATen/core/library.cpp``).

A ``Registry`` holds operators and backend fallbacks; the process has one (``process``), tests make their own. Resetting
a library undoes exactly what it registered, in any order.

NB: in PyTorch, the C++ signature of a typed kernel is compared with the schema and with the operator's other kernels,
and overriding a kernel prints a warning once per process; here neither happens.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count

from dispatchviz.core import recorder, refusals
from dispatchviz.core.kernel import Kernel
from dispatchviz.core.keys import ALIAS_MEMBERS, RUNTIME_KEYS, DispatchKey
from dispatchviz.core.operator import OperatorEntry, dotted
from dispatchviz.core.schema import FunctionSchema

K = DispatchKey

BLOCKS = {"DEF": "TORCH_LIBRARY", "FRAGMENT": "TORCH_LIBRARY_FRAGMENT", "IMPL": "TORCH_LIBRARY_IMPL"}
"""Kinds of libraries, and the C++ macro that PyTorch's errors call them by."""

WILDCARD = "_"
"""The namespace of libraries that register fallbacks."""


class Registry:
    """Operators by full name, fallbacks by runtime key, and who owns which namespace."""

    def __init__(self) -> None:
        self.operators: dict[str, OperatorEntry] = {}
        self.fallbacks: dict[DispatchKey, Kernel] = {}
        self.owners: dict[str, str] = {}
        """Namespace -> where its DEF library was made."""

    def entry(self, name: str) -> OperatorEntry:
        """The operator of a name, made if it is new (kernels may come before the definition)."""
        found = self.operators.get(name)
        if found is None:
            found = self.operators[name] = OperatorEntry(name, self.fallbacks)
        return found

    def find(self, name: str) -> OperatorEntry:
        """A defined operator. RuntimeError with PyTorch's text if there is none (``findSchemaOrThrow``)."""
        found = self.operators.get(name)
        if found is None:
            raise RuntimeError(f"Could not find schema for {dotted(name)}")
        found.schema  # noqa: B018  raises if it was only implemented
        return found

    def dangling(self) -> list[str]:
        """Operators that have kernels and were never defined (``_dispatch_find_dangling_impls``)."""
        return [name for name, op in self.operators.items() if not op.has_schema]

    def forget_if_empty(self, op: OperatorEntry) -> None:
        """An operator without definition and kernels is gone."""
        if not op.has_schema and not op.registrations:
            self.operators.pop(op.name, None)

    def set_fallback(self, key: DispatchKey, kernel: Kernel | None) -> None:
        """Sets or removes a backend fallback; every operator recomputes that cell."""
        if recorder.active is not None:
            recorder.active.registrations_change()
        if kernel is None:
            self.fallbacks.pop(key, None)
        else:
            self.fallbacks[key] = kernel
        for op in self.operators.values():
            op.fallback_changed(key)


process = Registry()
"""The registry of this process."""
operators = process.operators
fallbacks = process.fallbacks


class Library:
    """One block of registrations; ``kind`` is DEF, FRAGMENT or IMPL. Refusals are RuntimeErrors with PyTorch's text."""

    def __init__(
        self, kind: str, namespace: str, key: DispatchKey | None = None, registry: Registry = process, where: str = ""
    ) -> None:
        """RuntimeError for a wildcard, a key or a second DEF where none may be, and for an unknown kind."""
        if kind not in BLOCKS:
            raise RuntimeError(f"could not parse {kind}")
        self.kind = kind
        self.namespace = namespace
        self.key = _none_if_catch_all(key)
        self.registry = registry
        self.where = where or _caller()
        """FILE:LINE of whoever made it."""
        self._undo: dict[int, Callable[[], None]] = {}
        self._numbers = count()
        if kind != "IMPL":
            self._check_definer()
        if kind == "DEF":
            self._own_namespace()

    # -- checks -------------------------------------------------------------------------------------------------------

    @property
    def _block(self) -> str:
        return BLOCKS[self.kind]

    def _error(self, text: str, **words: object) -> RuntimeError:
        known = {"block": self._block, "where": self.where, "namespace": self.namespace, "key": self.key}
        return RuntimeError(text.format(**known | words))

    def _error_here(self, text: str, **words: object) -> RuntimeError:
        return self._error(text + refusals.PLACE, **words)

    def _check_definer(self) -> None:
        if self.key is not None:
            raise self._error_here(refusals.KEY_OF_DEFINER)
        if self.namespace == WILDCARD:
            definition = self.kind == "DEF"
            raise self._error(refusals.WILDCARD_DEF) if definition else self._error_here(refusals.WILDCARD_FRAGMENT)

    def _own_namespace(self) -> None:
        previous = self.registry.owners.get(self.namespace)
        if previous is not None:
            raise self._error(refusals.SECOND_DEF, previous=previous)
        self.registry.owners[self.namespace] = self.where
        self._remember(self._disown)

    def _disown(self) -> None:
        del self.registry.owners[self.namespace]

    # -- definitions --------------------------------------------------------------------------------------------------

    def def_(self, schema: str, kernel: Kernel | None = None, key: DispatchKey | None = None) -> OperatorEntry:
        """Defines an operator and, if a kernel is given, implements it too. SchemaError for a malformed schema."""
        name = schema.partition("(")[0].strip()
        if self.kind == "IMPL":
            raise self._error_here(refusals.DEF_IN_IMPL, name=name)
        op = self._define(FunctionSchema.parse(schema if "::" in name else f"{self.namespace}::{schema}"))
        if kernel is not None:
            self.impl(name, kernel, key)
        return op

    def _define(self, schema: FunctionSchema) -> OperatorEntry:
        if schema.namespace != self.namespace:
            raise self._error_here(refusals.NAMESPACE_OF_DEF, given=schema.namespace)
        op = self.registry.entry(schema.full_name)
        if op.has_schema:
            raise self._error(refusals.DEFINED_TWICE, schema=schema, original=op.debug)
        op.define(schema, f"registered at {self.where}")
        self._remember(lambda: self._undefine(op))
        if recorder.active is not None:
            recorder.active.operator_defined(op)
        return op

    def _undefine(self, op: OperatorEntry) -> None:
        op.define(None)
        self.registry.forget_if_empty(op)

    # -- kernels ------------------------------------------------------------------------------------------------------

    def impl(self, name: str, kernel: Kernel, key: DispatchKey | None = None) -> Callable[[], None]:
        """Registers a kernel; without any key it is a catch-all and stored under CompositeImplicitAutograd.

        ``name`` may have the namespace and an overload. What is returned takes the kernel away again.
        """
        op = self.registry.entry(self._full_name(name))
        chosen = self._chosen_key(name, key)
        stored = K.CompositeImplicitAutograd if chosen is None else chosen
        op.table  # noqa: B018  from here on every change recomputes what PyTorch recomputes, and no more
        op.register(stored, kernel, catch_all=chosen is None)
        if recorder.active is not None:
            recorder.active.kernel_registered(op, stored, kernel, False)
        return self._remember(lambda: self._deregister(op, stored, kernel))

    def _full_name(self, name: str) -> str:
        namespace, colons, rest = name.rpartition("::")
        if not colons:
            if self.namespace == WILDCARD:
                raise RuntimeError(
                    f'impl("{name}", ...): a library of the wildcard namespace _ needs NAMESPACE::{name}'
                )
            return f"{self.namespace}::{rest}"
        if namespace != self.namespace and self.namespace != WILDCARD:
            raise self._error_here(refusals.NAMESPACE_OF_IMPL, name=name, given=namespace)
        return name

    def _chosen_key(self, name: str, given: DispatchKey | None) -> DispatchKey | None:
        given = _none_if_catch_all(given)
        if given is not None and self.key is not None and given != self.key:
            raise self._error_here(refusals.KEY_OF_IMPL, name=name, given=given)
        return self.key if given is None else given

    def _deregister(self, op: OperatorEntry, key: DispatchKey, kernel: Kernel) -> None:
        op.deregister(key, kernel)
        if recorder.active is not None:
            recorder.active.kernel_registered(op, key, kernel, True)
        self.registry.forget_if_empty(op)

    # -- fallbacks ----------------------------------------------------------------------------------------------------

    def fallback(self, kernel: Kernel, key: DispatchKey | None = None) -> None:
        """Registers a backend fallback; for an alias one per runtime key that it stands for."""
        if self.kind != "IMPL":
            raise self._error_here(refusals.FALLBACK_OUTSIDE_IMPL)
        wanted = _none_if_catch_all(key) or self.key
        if wanted is None:
            raise self._error_here(refusals.NO_KEY_FOR_FALLBACK)
        if self.namespace != WILDCARD:
            raise self._error_here(refusals.FALLBACK_IN_NAMESPACE, key=wanted)
        for runtime in _runtime_keys(wanted):
            self._register_fallback(runtime, kernel)

    def _register_fallback(self, key: DispatchKey, kernel: Kernel) -> None:
        previous = self.registry.fallbacks.get(key)
        if previous is not None and key != K.AutogradPrivateUse1:  # out-of-tree backends bring their own
            raise self._error(refusals.SECOND_FALLBACK, key=key, previous=previous.debug, new=kernel.debug)
        self.registry.set_fallback(key, kernel)
        if recorder.active is not None:
            recorder.active.kernel_registered(None, key, kernel, False)
        self._remember(lambda: self._remove_fallback(key, kernel))

    def _remove_fallback(self, key: DispatchKey, kernel: Kernel) -> None:
        self.registry.set_fallback(key, None)
        if recorder.active is not None:
            recorder.active.kernel_registered(None, key, kernel, True)

    # -- undoing ------------------------------------------------------------------------------------------------------

    def _remember(self, undo: Callable[[], None]) -> Callable[[], None]:
        """Keeps how to undo a registration; the result does it, once."""
        number = next(self._numbers)
        self._undo[number] = undo
        return lambda: self._undo.pop(number, _nothing)()

    def reset(self) -> None:
        """Undoes what this library registered, in the order in which it did."""
        while self._undo:
            self._undo.pop(next(iter(self._undo)))()


def _nothing() -> None:
    """Undone already."""


def _none_if_catch_all(key: DispatchKey | None) -> DispatchKey | None:
    """Undefined means no key at all."""
    return None if key == K.Undefined else key


def _runtime_keys(key: DispatchKey) -> Iterator[DispatchKey]:
    members = ALIAS_MEMBERS.get(key)
    return iter((key,)) if members is None else (runtime for runtime in RUNTIME_KEYS if runtime in members)


def _caller() -> str:
    """File and line of whoever makes a library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
