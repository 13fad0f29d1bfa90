"""Registration: libraries define operators and put kernels under keys (``torch/library.h``, ``ATen/core/library.cpp``).

A ``Registry`` holds operators and backend fallbacks; the process has one (``operators``, ``fallbacks``), tests make
their own. Resetting a library undoes exactly what it registered, in any order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from dispatchviz.core import recorder
from dispatchviz.core.kernel import Kernel
from dispatchviz.core.keys import ALIASES, RUNTIME_KEYS, DispatchKey, included_in_alias
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.schema import FunctionSchema

KINDS = {"DEF": "TORCH_LIBRARY", "FRAGMENT": "TORCH_LIBRARY_FRAGMENT", "IMPL": "TORCH_LIBRARY_IMPL"}


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
        """A defined operator. RuntimeError with PyTorch's text if there is none."""
        found = self.operators.get(name)
        if found is None:
            base, _, overload = name.partition(".")
            raise RuntimeError(f"Could not find schema for {base}.{overload}")
        found.schema  # noqa: B018  raises if it was only implemented
        return found

    def forget_if_empty(self, op: OperatorEntry) -> None:
        """An operator without definition and kernels is gone."""
        if not op.has_schema and not op.registrations:
            self.operators.pop(op.name, None)

    def set_fallback(self, key: DispatchKey, kernel: Kernel | None) -> None:
        """Sets or removes a backend fallback; every operator recomputes that cell."""
        if kernel is None:
            self.fallbacks.pop(key, None)
        else:
            self.fallbacks[key] = kernel
        for op in self.operators.values():
            op.changed(key)


process = Registry()
"""The registry of this process."""
operators = process.operators
fallbacks = process.fallbacks


class Library:
    """One block of registrations; ``kind`` is DEF, FRAGMENT or IMPL."""

    def __init__(
        self, kind: str, namespace: str, key: DispatchKey | None = None, registry: Registry = process, where: str = ""
    ) -> None:
        """RuntimeError with PyTorch's text for a wildcard, a key or a second DEF where none may be."""
        self.kind = kind
        self.namespace = namespace
        self.key = key
        self.registry = registry
        self.where = where or _caller()
        self._undo: list[Callable[[], None]] = []
        self._check()

    @property
    def _block(self) -> str:
        return KINDS[self.kind]

    @property
    def _in_block(self) -> str:
        return f"(Error occurred while processing {self._block} block at {self.where})"

    def _check(self) -> None:
        if self.kind == "FRAGMENT" and self.namespace == "_":
            raise RuntimeError(
                f"{self._block}: cannot define {self._block} with the wildcard namespace _ (every {self._block} defines "
                "operators for a distinct namespace!) Did you mean to use TORCH_LIBRARY_IMPL instead?  " + self._in_block
            )
        if self.kind == "DEF":
            if self.namespace == "_":
                raise RuntimeError("bad optional access")
            previous = self.registry.owners.get(self.namespace)
            if previous is not None:
                raise RuntimeError(
                    "Only a single TORCH_LIBRARY can be used to register the namespace "
                    f"{self.namespace}; please put all of your definitions in a single TORCH_LIBRARY block.  If you were "
                    "trying to specify implementations, consider using TORCH_LIBRARY_IMPL (which can be duplicated).  If "
                    "you really intended to define operators for a single namespace in a distributed way, you can use "
                    f"TORCH_LIBRARY_FRAGMENT to explicitly indicate this.  Previous registration of TORCH_LIBRARY was "
                    f"registered at {previous}; latest registration was registered at {self.where}"
                )
            self.registry.owners[self.namespace] = self.where
            self._undo.append(lambda: self.registry.owners.pop(self.namespace, None) and None)

    def def_(self, schema: str) -> OperatorEntry:
        """Defines an operator. RuntimeError as in PyTorch, SchemaError for a malformed schema."""
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{schema}"): Cannot define an operator inside of a {self._block} block.  All def()s should be '
                f"placed in the (unique) TORCH_LIBRARY block for their namespace.  {self._in_block}"
            )
        parsed = FunctionSchema.parse(schema if "::" in schema.partition("(")[0] else f"{self.namespace}::{schema}")
        namespace = parsed.name.partition("::")[0]
        if namespace != self.namespace:
            raise RuntimeError(
                f"Explicitly provided namespace ({namespace}) in schema string does not match namespace of enclosing "
                f"{self._block} block ({self.namespace}).  Move this definition to the (unique) TORCH_LIBRARY block "
                f"corresponding to this namespace (and consider deleting the namespace from your schema string.)  {self._in_block}"
            )
        op = self.registry.entry(parsed.full_name)
        if op.has_schema:
            raise RuntimeError(
                f"Tried to register an operator ({parsed}) with the same name and overload name multiple times. Each "
                "overload's schema should only be registered with a single call to def(). Duplicate registration: "
                f"registered at {self.where}. Original registration: {op.debug}"
            )
        op.define(parsed, f"registered at {self.where}")
        if recorder.active is not None:
            recorder.active.operator_defined(op)
        self._undo.append(lambda: self._undefine(op))
        return op

    def _undefine(self, op: OperatorEntry) -> None:
        op.define(None)
        self.registry.forget_if_empty(op)

    def impl(self, name: str, kernel: Kernel, key: DispatchKey | None = None) -> None:
        """Registers a kernel for an operator of this namespace; without any key it is CompositeImplicitAutograd."""
        namespace, colons, rest = name.rpartition("::")
        if colons and namespace != self.namespace:
            raise RuntimeError(
                f'impl("{name}", ...): Explicitly provided namespace ({namespace}) in operator name does not match '
                f"namespace of enclosing {self._block} block ({self.namespace}).  Move this definition to the "
                f"TORCH_LIBRARY_IMPL block corresponding to this namespace (and consider deleting the namespace from your "
                f"schema string.)  {self._in_block}"
            )
        op = self.registry.entry(f"{self.namespace}::{rest}")
        key = self._key(name, key)
        op.register(key, kernel)
        if recorder.active is not None:
            recorder.active.kernel_registered(op, key, kernel, False)
        self._undo.append(lambda: self._deregister(op, key, kernel))

    def _key(self, name: str, key: DispatchKey | None) -> DispatchKey:
        if key is not None and self.key is not None and key is not self.key:
            raise RuntimeError(
                f'impl("{name}", ...): Explicitly provided dispatch key ({key.name}) is inconsistent with the dispatch '
                f"key of the enclosing {self._block} block ({self.key.name}).  Please declare a separate "
                f"{self._block} block for this dispatch key and move your impl() there.  {self._in_block}"
            )
        chosen = key or self.key or DispatchKey.CompositeImplicitAutograd
        return DispatchKey.CompositeImplicitAutograd if chosen is DispatchKey.Undefined else chosen

    def _deregister(self, op: OperatorEntry, key: DispatchKey, kernel: Kernel) -> None:
        op.deregister(key, kernel)
        if recorder.active is not None:
            recorder.active.kernel_registered(op, key, kernel, True)
        self.registry.forget_if_empty(op)

    def fallback(self, kernel: Kernel, key: DispatchKey | None = None) -> None:
        """Registers a backend fallback; for an alias one per runtime key that it covers."""
        if self.kind != "IMPL":
            raise RuntimeError(
                f"fallback(...): Cannot define an operator inside of a {self._block} block.  Did you mean to call this "
                f"function inside a TORCH_LIBRARY_IMPL block?  {self._in_block}"
            )
        if self.namespace != "_":
            raise RuntimeError(
                "fallback(...): Fallback functions which apply to only a single namespace "
                f"(you specified {self.namespace}) are not supported.  If you intended to apply this fallback function "
                f"globally, please define a separate block:\n\n    TORCH_LIBRARY_IMPL(_, {(key or self.key or DispatchKey.Undefined).name}, m) {{\n"
                f"        m.fallback(...);\n    }}\n\n{self._in_block}"
            )
        wanted = key or self.key
        assert wanted is not None, "a fallback needs a key"
        covered = [k for k in RUNTIME_KEYS if included_in_alias(k, wanted)] if wanted in ALIASES else [wanted]
        for runtime in covered:
            self._fallback(runtime, kernel)

    def _fallback(self, key: DispatchKey, kernel: Kernel) -> None:
        previous = self.registry.fallbacks.get(key)
        if previous is not None and key is not DispatchKey.AutogradPrivateUse1:
            raise RuntimeError(
                f"Tried to register multiple backend fallbacks for the same dispatch key {key.name}; previous registration "
                f"{previous.debug}, new registration {kernel.debug}"
            )
        self.registry.set_fallback(key, kernel)
        if recorder.active is not None:
            recorder.active.kernel_registered(None, key, kernel, False)
        self._undo.append(lambda: self.registry.set_fallback(key, None))

    def reset(self) -> None:
        """Undoes what this library registered."""
        while self._undo:
            self._undo.pop()()


def _caller() -> str:
    """File and line of whoever makes a library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
