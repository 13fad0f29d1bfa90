"""The registry: operators by name, backend fallbacks by key, owners of namespaces.

This module mirrors the tables of ``aten/src/ATen/core/dispatch/Dispatcher.h``. A registry may adopt a ``Stock``:
thousands of operators that it knows by name, and creates on first use.

Not here: the code that registers (``library.py``), PyTorch's registrations (``pytorch_registrations.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.seam import recorder
from dispatchviz.core.table.operator_entry import OperatorEntry, Source, dotted


class Stock(Source, Protocol):
    """The operators with which a registry starts."""

    def names(self) -> Iterable[str]:
        """Return the full names of all operators."""

    def owners(self) -> Mapping[str, str]:
        """Return the namespaces, with the place where the DEF library of each was made."""


class Operators(Mapping[str, OperatorEntry]):
    """Operators by full name, in order of definition. Those of the stock are created on first use."""

    def __init__(self, fallbacks: Mapping[DispatchKey, Kernel], entry: type[OperatorEntry]) -> None:
        self._fallbacks = fallbacks
        self._entry = entry
        self._source: Source | None = None
        self._entries: dict[str, OperatorEntry | None] = {}
        """The operators; None for one of the stock that has not been used yet."""

    def expect(self, names: Iterable[str], source: Source) -> None:
        """Add the names of operators that the source can provide."""
        self._source = source
        self._entries |= dict.fromkeys(names)

    def __getitem__(self, name: str) -> OperatorEntry:
        found = self._entries[name]
        if found is None:
            found = self._entries[name] = self._entry(name, self._fallbacks, self._source)
        return found

    def new(self, name: str) -> OperatorEntry:
        """Create an operator without definition and kernels."""
        made = self._entries[name] = self._entry(name, self._fallbacks)
        return made

    def made(self) -> Iterator[OperatorEntry]:
        """Yield the operators created so far, because they were used or registered."""
        return (op for op in self._entries.values() if op is not None)

    def forget(self, name: str) -> None:
        """Remove an operator, so that its name is free again."""
        self._entries.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class Registry:
    """Operators by full name, fallbacks by runtime key, and the library that owns each namespace."""

    def __init__(self, entry: type[OperatorEntry] = OperatorEntry) -> None:
        """Create a registry. ``entry`` is the class of its operators; a subclass has the rules of another release."""
        self.fallbacks: dict[DispatchKey, Kernel] = {}
        self.operators = Operators(self.fallbacks, entry)
        self.owners: dict[str, str] = {}
        """The namespaces, with the place where the DEF library of each was made."""

    def adopt(self, stock: Stock) -> None:
        """Register everything that the stock has, as if its libraries had run first."""
        self.operators.expect(stock.names(), stock)
        self.owners.update(stock.owners())

    def names(self) -> list[str]:
        """Return the full names of all operators, without creating any."""
        return list(self.operators)

    def get(self, name: str) -> OperatorEntry | None:
        """Return the operator with a name, even if it was only implemented; None if there is none."""
        return self.operators.get(name)

    def entry(self, name: str) -> OperatorEntry:
        """Return the operator with a name, created if it is new (kernels may come before the definition)."""
        found = self.operators.get(name)
        return self.operators.new(name) if found is None else found

    def find(self, name: str) -> OperatorEntry:
        """Return a defined operator. Raise RuntimeError with PyTorch's text if there is none
        (``findSchemaOrThrow``).
        """
        found = self.operators.get(name)
        if found is None:
            raise RuntimeError(f"Could not find schema for {dotted(name)}")
        found.schema  # noqa: B018  raises if it was only implemented
        return found

    def dangling(self) -> list[str]:
        """Return the operators that have kernels and were never defined (``_dispatch_find_dangling_impls``)."""
        return [op.name for op in self.operators.made() if not op.has_schema]

    def forget_if_empty(self, op: OperatorEntry) -> None:
        """Remove an operator that has neither a definition nor kernels."""
        if not op.has_schema and not op.registrations:
            self.operators.forget(op.name)

    def set_fallback(self, key: DispatchKey, kernel: Kernel | None) -> None:
        """Set or remove a backend fallback. Every operator recomputes that entry, and operators created later use
        it.
        """
        recorder.registrations_change()
        if kernel is None:
            self.fallbacks.pop(key, None)
        else:
            self.fallbacks[key] = kernel
        self._recompute([key])

    def set_fallbacks(self, kernels: Mapping[DispatchKey, Kernel]) -> None:
        """Set several backend fallbacks in one pass over the operators."""
        recorder.registrations_change()
        self.fallbacks.update(kernels)
        self._recompute(kernels)

    def _recompute(self, changed: Iterable[DispatchKey]) -> None:
        """Recompute the entries of fallbacks that changed, for all operators whose table has been computed."""
        for op in self.operators.made():
            if op.is_computed:
                for key in changed:
                    op.fallback_changed(key)


process = Registry()
"""The registry of this process."""
