"""The registrations of an installed PyTorch, as the stock of a registry: operators with their kernels, and fallbacks.

They are read from PyTorch's own dumps (``_dispatch_dump``), one operator at a time when it is first needed, without the
kernels of a recording. Code that puts those must call ``read_before_ours`` before. Registrations of keys that PyTorch
2.14 does not have are left out (``unknown_keys``).

These kernels have PyTorch's facts and no function. The dumps do not contain the names of kernels. A name comes from the
functions of the program, or from dispatchviz's knowledge of PyTorch 2.14 if operator, key and file agree. Otherwise it
is empty.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import ALIAS_MEMBERS, RUNTIME_KEYS, DispatchKey
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.pytorch_registrations import pytorch_fallbacks, pytorch_registrations
from dispatchviz.core.table.registry import Registry
from dispatchviz.foundation.unlocked_property import cached_property
from dispatchviz.live.installed_torch import installed_torch, release
from dispatchviz.live.kernel_calls import hands_out_kernels
from dispatchviz.live.registration import (
    Registration,
    defined_operators,
    fallbacks_in,
    file_name,
    kernels_by_key,
    known_key,
    place_in,
    registered_at,
    registrations_in,
    registry_with,
    without_ours,
)

_OWNED = re.compile(r"Previous registration of TORCH_LIBRARY was (?P<place>registered at .*); latest")

_SCHEMA_FILE = re.compile(r"registered at (?P<folder>.*?)build[/\\]aten[/\\]src[/\\]ATen[/\\]RegisterSchema\.cpp:\d+")
"""The file that defines PyTorch's own operators, in the folder in which it was built."""

_EMPTY = "dispatchviz_fallbacks"
"""A namespace that exists only while fallbacks are read."""


_RENAMED = {"aten::_scaled_mm_v2": (2, 14), "aten::_scaled_mm_v2.out": (2, 14)}
"""Operators whose generated kernels had other names before a release. All other C++ names that are shown for PyTorch
2.6, 2.8, 2.12 and 2.14 exist in the release's ``libtorch_cpu.so``.
"""


class Definition(NamedTuple):
    """The head of ``_dispatch_dump``."""

    schema: str
    debug: str
    alias_analysis: str


_INFERRED = re.compile(r"\bPyObject\b")


NamesOfProgram = Callable[[str, str], Sequence[str]]
"""A function that returns the names of the functions that the program registered for an operator and a key, newest
first.
"""


class InstalledPyTorch:
    """The operators of the installed PyTorch, as a registry's stock. Raise InstalledTorchError if there is none.

    A recording looks operators up by name only. It leaves out the order of overloads, because asking for that takes as
    long as a hundred calls.
    """

    def __init__(self, of_program: NamesOfProgram = lambda operator, key: (), in_order: bool = True) -> None:
        self.torch = installed_torch()
        self._of_program = of_program
        self._is_in_order = in_order
        self._dispatcher: Any = self.torch._C
        self._dumps: dict[str, str] = {}
        self._registry: Registry | None = None

    # -- reading ------------------------------------------------------------------------------------------------------

    def read_before_ours(self) -> None:
        """Read what must be read before any cell has a kernel of ours: the fallbacks, and all operators if the release
        does not say which kernels are ours.
        """
        assert self.registered_fallbacks
        if not hands_out_kernels(self._dispatcher):
            self._dumps = {name: self._dispatcher._dispatch_dump(name) for name in self.names()}

    def forget(self, name: str) -> None:
        """Forget the registrations of an operator, which may be new. They are read again when they are next needed."""
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
            found = self._dumps[name] = without_ours(self._dispatcher._dispatch_dump(name))
        return found

    def location(self, debug: str) -> str:
        """Return a location without the folder in which this PyTorch was built or installed."""
        place = place_in(debug)
        for folder in self._folders:
            if place.startswith(folder):
                return registered_at(place.removeprefix(folder).replace("\\", "/"))
        return debug

    def _located(self, row: Registration) -> Registration:
        return msgspec.structs.replace(row, place=place_in(self.location(row.debug)))

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        built = _SCHEMA_FILE.fullmatch(self._head("aten::add.Tensor").debug)
        installed = os.path.dirname(os.path.dirname(self.torch.__file__)) + os.sep
        return (built["folder"], installed) if built and built["folder"] else (installed,)

    def _head(self, name: str) -> Definition:
        """Return the head of the dump of an operator."""
        return Definition(*(line.partition(": ")[2] for line in self._dump(name).split("\n", 4)[1:4]))

    # -- facts --------------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the full names of all defined operators. Overloads of one name are in the order in which PyTorch tries
        them.
        """
        return self._names

    @cached_property
    def _names(self) -> list[str]:
        found = defined_operators(self._dispatcher)
        ordered = [name for name in self._in_order(found) if name in found] if self._is_in_order else []
        return list(dict.fromkeys((*ordered, *sorted(found))))

    def _in_order(self, names: Iterable[str]) -> Iterator[str]:
        for base in sorted({name.partition(".")[0] for name in names}):
            for overload in self._dispatcher._jit_get_operation(base)[1] or ():
                yield f"{base}.{overload}" if overload else base

    def owners(self) -> Mapping[str, str]:
        """Return a mapping from each namespace that has a DEF library to the place where that library was made."""
        namespaces = dict.fromkeys(name.partition("::")[0] for name in self.names())
        found = ((namespace, self._owner(namespace)) for namespace in namespaces)
        return {namespace: place for namespace, place in found if place}

    def _owner(self, namespace: str) -> str:
        """Return the place of a namespace's DEF library, which PyTorch names in the error for a second one."""
        try:
            self._dispatcher._dispatch_library("DEF", namespace, "").reset()
        except RuntimeError as error:
            owned = _OWNED.search(str(error))
            return place_in(self.location(owned["place"])) if owned else ""
        return ""

    def definition(self, name: str) -> Definition:
        """Return the definition of an operator. Like the methods below, raise KeyError if there is no such operator."""
        if not self._is_defined(name):
            raise KeyError(name)
        schema, debug, alias_analysis = self._head(name)
        return Definition(schema, self.location(debug), alias_analysis)

    def schema(self, name: str) -> FunctionSchema:
        """Return the schema of an operator. Raise KeyError if there is no such operator.

        NB: PyTorch infers the type ``PyObject`` from a C++ function but cannot parse it. It is ``Any`` here.
        """
        return parse_schema(_INFERRED.sub("Any", self.definition(name).schema))

    def debug(self, name: str) -> str:
        """Return the place where an operator was defined."""
        return self.definition(name).debug

    def alias_analysis(self, name: str) -> str:
        """Return the kind of alias analysis, as dumps print it."""
        return self.definition(name).alias_analysis

    def registered(self, name: str) -> Iterator[Registration]:
        """Yield the kernels of an operator, including those of unknown keys, in the order of PyTorch's keys, newest
        first for each key.
        """
        return map(self._located, registrations_in(self._dump(name)))

    def named(self, name: str) -> Iterator[tuple[Registration, str]]:
        """Yield the kernels of an operator, each with its name."""
        known, waiting = self._model_names(name), dict[str, list[str]]()
        for row in self.registered(name):
            of_program = waiting.setdefault(row.key, [*self._of_program(name, row.key)])
            yield row, of_program.pop(0) if of_program and row.is_python else _known_name(known, row)

    def _model_names(self, name: str) -> dict[tuple[DispatchKey, str], str]:
        """Return the names that the kernels of an operator have in PyTorch 2.14, without those that are newer than
        the installed release.
        """
        known = _names(pytorch_registrations(name, "cuda"))
        if release(str(self.torch.__version__)) >= _RENAMED.get(name, (0, 0)):
            return known
        return {place: kernel for place, kernel in known.items() if not kernel.startswith("wrapper_")}

    def registrations(self, name: str) -> dict[DispatchKey, list[Kernel]]:
        """Return the kernels of an operator by key or alias, newest first."""
        return kernels_by_key(self._noted(self.named(name)))

    def fallbacks(self) -> Iterator[tuple[DispatchKey, Kernel]]:
        """Yield the backend fallbacks with their keys."""
        names = _names(pytorch_fallbacks())
        found = kernels_by_key(self._noted((row, _known_name(names, row)) for row in self.registered_fallbacks))
        return ((key, kernel) for key, (kernel,) in found.items())

    @cached_property
    def registered_fallbacks(self) -> tuple[Registration, ...]:
        """The backend fallbacks, including those of unknown keys. They are read from the table of an operator that has
        no kernels.
        """
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
        """The keys of this release that PyTorch 2.14 does not have. Their registrations are left out."""
        return {key for key in self.keys if key not in DispatchKey.__members__}

    def _noted(self, rows: Iterable[tuple[Registration, str]]) -> Iterator[tuple[Registration, str]]:
        for row, name in rows:
            if known_key(row.key) is None:
                self.unknown_keys.add(row.key)
            yield row, name

    @property
    def alias_members(self) -> dict[DispatchKey, frozenset[DispatchKey]]:
        """A mapping from each alias to its runtime keys in this release. In 2.9 CompositeImplicitAutograd includes
        Functionalize.
        """
        if not _MEMBERS:
            _MEMBERS.update(
                (alias, frozenset(self._members(alias, members))) for alias, members in ALIAS_MEMBERS.items()
            )
        return _MEMBERS

    def _members(self, alias: DispatchKey, known: frozenset[DispatchKey]) -> Iterator[DispatchKey]:
        """Yield the keys of an alias. Keys that cannot be registered by name are members if they are members in 2.14
        and this release has them.
        """
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
        """The registry of exactly these registrations. It is always the same object, and ``forget`` changes it too."""
        if self._registry is None:
            self._registry = registry_with(self, dict(self.fallbacks()), self.alias_members)
        return self._registry


_MEMBERS: dict[DispatchKey, frozenset[DispatchKey]] = {}
"""The members of aliases, which no program changes."""


def _known_name(names: Mapping[tuple[DispatchKey, str], str], row: Registration) -> str:
    key = known_key(row.key)
    return "" if key is None else names.get((key, file_name(row.place)), "")


def _names(known: Iterable[tuple[DispatchKey, Kernel]]) -> dict[tuple[DispatchKey, str], str]:
    """Return the names of kernels by key and file name."""
    return {(key, file_name(place_in(kernel.debug))): kernel.name for key, kernel in known}
