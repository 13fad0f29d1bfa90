"""What an installed PyTorch registers, as the stock of a registry: its operators with their kernels, its fallbacks.

Read from its own dumps (``_dispatch_dump``), an operator when it is first asked for. Whoever changes cells later reads
everything before: ``read_all``. Of keys that PyTorch 2.13 has not, registrations are left out (``unknown_keys``).

Kernels have PyTorch's facts and no function. Dumps do not have their names: those are taken from what dispatchviz knows
of PyTorch 2.13 where operator, key and file are the same, and from the program's functions; they are empty elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import ALIAS_MEMBERS, RUNTIME_KEYS, DispatchKey
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.pytorch_registrations import pytorch_fallbacks, pytorch_registrations
from dispatchviz.core.table.registry import Registry
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.live.registration import (
    Registration,
    defined_operators,
    fallbacks_in,
    file_name,
    kernels_by_key,
    known_key,
    place_said,
    registrations_in,
    registry_with,
    said_place,
)

_OWNED = re.compile(r"Previous registration of TORCH_LIBRARY was (?P<place>registered at .*); latest")

_SCHEMA_FILE = re.compile(r"registered at (?P<folder>.*?)build[/\\]aten[/\\]src[/\\]ATen[/\\]RegisterSchema\.cpp:\d+")
"""Where PyTorch's own operators are defined, in the folder in which it was built."""

_EMPTY = "dispatchviz_fallbacks"
"""A namespace for the moment in which fallbacks are read."""


class Definition(NamedTuple):
    """The head of ``_dispatch_dump``."""

    schema: str
    debug: str
    alias_analysis: str


_INFERRED = re.compile(r"\bPyObject\b")


NamesOfProgram = Callable[[str, str], Sequence[str]]
"""Of an operator and a key the names of the functions that the program registered there, the newest first."""


class InstalledPyTorch:
    """The operators of the installed PyTorch, as a registry's stock. InstalledTorchError if there is none."""

    def __init__(self, of_program: NamesOfProgram = lambda operator, key: ()) -> None:
        self.torch = installed_torch()
        self._of_program = of_program
        self._dispatcher: Any = self.torch._C
        self._dumps: dict[str, str] = {}
        self._registry: Registry | None = None

    # -- reading ------------------------------------------------------------------------------------------------------

    def read_all(self) -> None:
        """Everything as it is now, with the fallbacks: later changes are not seen, but for what is forgotten."""
        self._dumps = {name: self._dispatcher._dispatch_dump(name) for name in self.names()}
        assert self.registered_fallbacks

    def forget(self, name: str) -> None:
        """The registrations of an operator are read again when they are next asked for, also if it is a new one."""
        self._dumps.pop(name, None)
        self.__dict__.pop("_names", None)
        if self._registry is None:
            return
        if self._is_defined(name):
            self._registry.operators.expect([name], self)
        else:
            self._registry.operators.forget(name)

    def _is_defined(self, name: str) -> bool:
        dump = self._dump(name)  # empty if there is nothing of that name
        return bool(dump) and not dump.partition("\n")[2].startswith("schema: (none)")

    def _dump(self, name: str) -> str:
        found = self._dumps.get(name)
        if found is None:
            found = self._dumps[name] = self._dispatcher._dispatch_dump(name)
        return found

    def location(self, debug: str) -> str:
        """Without the folder in which this PyTorch was built or the one in which it is installed."""
        place = place_said(debug)
        for folder in self._folders:
            if place.startswith(folder):
                return said_place(place.removeprefix(folder).replace("\\", "/"))
        return debug

    def _located(self, row: Registration) -> Registration:
        return msgspec.structs.replace(row, place=place_said(self.location(row.debug)))

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        built = _SCHEMA_FILE.fullmatch(self._head("aten::add.Tensor").debug)
        installed = os.path.dirname(os.path.dirname(self.torch.__file__)) + os.sep
        return (built["folder"], installed) if built and built["folder"] else (installed,)

    def _head(self, name: str) -> Definition:
        """As the dump has it."""
        return Definition(*(line.partition(": ")[2] for line in self._dump(name).split("\n", 4)[1:4]))

    # -- facts --------------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Full names of all defined operators; overloads of one name in the order in which PyTorch tries them."""
        return self._names

    @cached_property
    def _names(self) -> list[str]:
        found = defined_operators(self._dispatcher)
        ordered = [name for name in self._in_order(found) if name in found]
        return list(dict.fromkeys((*ordered, *sorted(found))))

    def _in_order(self, names: Iterable[str]) -> Iterator[str]:
        for base in sorted({name.partition(".")[0] for name in names}):
            for overload in self._dispatcher._jit_get_operation(base)[1] or ():
                yield f"{base}.{overload}" if overload else base

    def owners(self) -> Mapping[str, str]:
        """Namespace -> where its DEF library was made, for those that have one."""
        namespaces = dict.fromkeys(name.partition("::")[0] for name in self.names())
        found = ((namespace, self._owner(namespace)) for namespace in namespaces)
        return {namespace: place for namespace, place in found if place}

    def _owner(self, namespace: str) -> str:
        """PyTorch says it in the error of a second one."""
        try:
            self._dispatcher._dispatch_library("DEF", namespace, "").reset()
        except RuntimeError as error:
            owned = _OWNED.search(str(error))
            return place_said(self.location(owned["place"])) if owned else ""
        return ""

    def definition(self, name: str) -> Definition:
        """KeyError if there is no such operator, as in all of these."""
        if not self._is_defined(name):
            raise KeyError(name)
        schema, debug, alias_analysis = self._head(name)
        return Definition(schema, self.location(debug), alias_analysis)

    def schema(self, name: str) -> FunctionSchema:
        """KeyError if there is no such operator.

        NB: a type that PyTorch infers from a C++ function and cannot read itself, ``PyObject``, is ``Any`` here.
        """
        return parse_schema(_INFERRED.sub("Any", self.definition(name).schema))

    def debug(self, name: str) -> str:
        """Where it was defined."""
        return self.definition(name).debug

    def alias_analysis(self, name: str) -> str:
        """Kind of alias analysis, as dumps print it."""
        return self.definition(name).alias_analysis

    def registered(self, name: str) -> Iterator[Registration]:
        """Its kernels, also those of unknown keys: by the order of PyTorch's keys, newest first under each key."""
        return map(self._located, registrations_in(self._dump(name)))

    def named(self, name: str) -> Iterator[tuple[Registration, str]]:
        """The same, each with the name of its kernel."""
        known, waiting = _names(pytorch_registrations(name, "cuda")), dict[str, list[str]]()
        for row in self.registered(name):
            of_program = waiting.setdefault(row.key, [*self._of_program(name, row.key)])
            yield row, of_program.pop(0) if of_program and row.is_python else _known_name(known, row)

    def registrations(self, name: str) -> dict[DispatchKey, list[Kernel]]:
        """Its kernels per key or alias, newest first."""
        return kernels_by_key(self._noted(self.named(name)))

    def fallbacks(self) -> Iterator[tuple[DispatchKey, Kernel]]:
        """Its backend fallbacks."""
        names = _names(pytorch_fallbacks())
        found = kernels_by_key(self._noted((row, _known_name(names, row)) for row in self.registered_fallbacks))
        return ((key, kernel) for key, (kernel,) in found.items())

    @cached_property
    def registered_fallbacks(self) -> tuple[Registration, ...]:
        """The same, also those of unknown keys: the table of an operator without kernels has nothing else."""
        library = self._dispatcher._dispatch_library("FRAGMENT", _EMPTY, "")
        library.def_("empty_operator(Tensor self) -> Tensor", "")
        table = self._dispatcher._dispatch_dump_table(f"{_EMPTY}::empty_operator")
        library.reset()
        return tuple(map(self._located, fallbacks_in(table)))

    # -- keys ---------------------------------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The runtime keys of this release, low to high."""
        full = self._dispatcher._dispatch_keyset_to_string(self._dispatcher._dispatch_keyset_full())
        return tuple(full.removeprefix("DispatchKeySet(").removesuffix(")").split(", "))

    @cached_property
    def unknown_keys(self) -> set[str]:
        """Keys of this release that PyTorch 2.13 has not: no registration of theirs is handed out."""
        return {key for key in self.keys if key not in DispatchKey.__members__}

    def _noted(self, rows: Iterable[tuple[Registration, str]]) -> Iterator[tuple[Registration, str]]:
        for row, name in rows:
            if known_key(row.key) is None:
                self.unknown_keys.add(row.key)
            yield row, name

    @cached_property
    def alias_members(self) -> dict[DispatchKey, frozenset[DispatchKey]]:
        """Alias to its runtime keys, as this release has it: in 2.9 CompositeImplicitAutograd has Functionalize."""
        return {alias: frozenset(self._members(alias, members)) for alias, members in ALIAS_MEMBERS.items()}

    def _members(self, alias: DispatchKey, known: frozenset[DispatchKey]) -> Iterator[DispatchKey]:
        """Keys that cannot be named are members if they are in 2.13, as long as this release has them."""
        asked, parsed = self._dispatcher._dispatch_is_included_in_alias, self._dispatcher._dispatch_key_parse
        for key in RUNTIME_KEYS:
            try:
                included = asked(parsed(key.name), parsed(alias.name))
            except RuntimeError:
                included = key in known and key.name in self.keys
            if included:
                yield key

    # -- the registry -------------------------------------------------------------------------------------------------

    def registry(self) -> Registry:
        """A registry with exactly what is registered, always the same one: ``forget`` changes it, too."""
        if self._registry is None:
            self._registry = registry_with(self, dict(self.fallbacks()), self.alias_members)
        return self._registry


def _known_name(names: Mapping[tuple[DispatchKey, str], str], row: Registration) -> str:
    key = known_key(row.key)
    return "" if key is None else names.get((key, file_name(row.place)), "")


def _names(known: Iterable[tuple[DispatchKey, Kernel]]) -> dict[tuple[DispatchKey, str], str]:
    """Kernels' names by key and file name."""
    return {(key, file_name(place_said(kernel.debug))): kernel.name for key, kernel in known}
