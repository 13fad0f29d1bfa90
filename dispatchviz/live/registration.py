"""A registration as PyTorch's dumps print it, and registries of registrations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.kernel.kernel_names import FALLTHROUGH
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.precedence import Members, covering, rules_with
from dispatchviz.core.table.registry import Registry, Stock

Kind = Literal["unboxed", "sym_unboxed", "boxed", "fallthrough"]
"""The kind of a kernel: a C++ function, one with ``SymInt`` in its signature, a boxed function (on the stack), or a
fallthrough.
"""

OUR_FILE = __file__
"""The file that PyTorch's texts name for our kernels, with line 0."""

UNKNOWN_FILE = "/dev/null"
"""The place that PyTorch before 2.9 prints for kernels that Python registered."""

_ROW = re.compile(
    r"(?P<key>\w+)(?:\[alias\])?(?: \(inactive\))?: (?P<debug>.*?) :: (?P<schema>.*) \[(?P<flags>[^\[\]]*)\]"
)
_CELL = re.compile(r"(?P<key>\w+): (?P<fallthrough>fallthrough )?(?P<debug>.*) \[(?P<reason>[^\]]*)\]")
_AT = "registered at "
_OURS = f"{_AT}{OUR_FILE}:0 "
_PART = re.compile(r"_\d+(?=\.\w+$)")
"""The number of a part of a generated file."""


class Registration(msgspec.Struct, frozen=True, array_like=True):
    """A kernel that is registered under a key; also a backend fallback."""

    key: str
    kind: Kind
    place: str
    """``FILE:LINE``, or PyTorch's text where it has no place: ``registered by RegisterOperators``."""

    @property
    def file(self) -> str:
        """The file without the line number. The parts of a generated file count as one:
        ``build/aten/src/ATen/RegisterCPU.cpp``.
        """
        return _PART.sub("", self.place.rpartition(":")[0] or self.place)

    @property
    def debug(self) -> str:
        """The place as PyTorch's dumps print it."""
        return registered_at(self.place)

    @property
    def is_python(self) -> bool:
        """True if Python registered it."""
        return is_in_python_file(self.place)

    def kernel(self, name: str = "") -> Kernel:
        """Return a kernel with these facts and no function."""
        fallthrough, typed = self.kind == "fallthrough", self.kind.endswith("unboxed")
        return Kernel(
            FALLTHROUGH if fallthrough else name,
            None,
            self.debug,
            boxed=not typed,
            fallthrough=fallthrough,
            unboxed=self.kind == "unboxed",
            signature=typed,
        )


def registered_at(place: str) -> str:
    """Return ``registered at FILE:LINE``."""
    return place if place.startswith("registered ") else f"{_AT}{place}"


def is_pytorchs_place(place: str) -> bool:
    """Return whether a place is in PyTorch's own sources. NB: ``InstalledPyTorch.location`` removes the folder in which
    PyTorch was built or installed.
    """
    return place.startswith(_SOURCES)


_SOURCES = ("aten/", "build/", "c10/", "torch/")


def is_in_python_file(place: str) -> bool:
    """Return whether a place is in a Python file, whose name need not have a suffix: ``<string>:3``."""
    file, _, line = place.rpartition(":")
    return line.isdecimal() and not file.endswith(_OF_CPP)


def is_generated(place: str) -> bool:
    """Return whether a place is in a file that torchgen writes. None of its kernels is a fallthrough."""
    return "build/aten/src/ATen/Register" in place or "torch/csrc/autograd/generated/" in place


_OF_CPP = (".cpp", ".h", ".cu", ".cuh", ".cc", ".cxx", ".hpp", ".c", ".mm", ".inl")


def place_in(debug: str) -> str:
    """Return the place without ``registered at``: the inverse of the text of a place."""
    return debug.removeprefix(_AT)


def registrations_in(dump: str) -> Iterator[Registration]:
    """Yield the registrations in the text of ``_dispatch_dump``, in the order of PyTorch's keys, newest first for each
    key.
    """
    for row in map(_ROW.fullmatch, dump.splitlines()):
        if row is not None:
            yield Registration(
                row["key"], _kind(row["schema"] != "(none)", row["flags"].split()), place_in(row["debug"])
            )


def without_ours(dump: str) -> str:
    """Return the text of ``_dispatch_dump`` without the rows of our kernels."""
    if _OURS not in dump:
        return dump
    return "".join(line for line in dump.splitlines(keepends=True) if _OURS not in line)


def _kind(typed: bool, flags: list[str]) -> Kind:
    if "fallthrough" in flags:
        return "fallthrough"
    if not typed:
        return "boxed"
    return "unboxed" if "unboxed" in flags else "sym_unboxed"


def defined_operators(c: Any) -> set[str]:
    """Return the full names of the operators that have a schema. PyTorch also lists names that have only kernels; a
    build with Vulkan has one.
    """
    dangling = c._dispatch_find_dangling_impls()
    return {*c._dispatch_get_all_op_names()} - {dump.partition("\n")[0].removeprefix("name: ") for dump in dangling}


def filled_cells(table: str) -> dict[str, tuple[str, str, bool]]:
    """Return the cells in the text of ``_dispatch_dump_table`` by key: where the kernel was registered, PyTorch's tag,
    and whether calls skip it.
    """
    rows = (row for row in map(_CELL.fullmatch, table.splitlines()) if row is not None)
    return {row["key"]: (row["debug"], row["reason"], bool(row["fallthrough"])) for row in rows}


def fallbacks_in(table: str) -> Iterator[Registration]:
    """Yield the fallbacks in the text of ``_dispatch_dump_table``, for an operator without kernels, whose table holds
    only fallbacks.
    """
    for key, (debug, _, is_skipped) in filled_cells(table).items():
        yield Registration(key, "fallthrough" if is_skipped else "boxed", place_in(debug))


@cache
def known_key(name: str) -> DispatchKey | None:
    """Return the key with this name, or None for a key that PyTorch 2.14 does not have."""
    return DispatchKey.__members__.get(name)


def kernels_by_key(rows: Iterable[tuple[Registration, str]]) -> dict[DispatchKey, list[Kernel]]:
    """Return kernels by known key or alias, in the same order. Each registration comes with its kernel's name."""
    found: dict[DispatchKey, list[Kernel]] = {}
    for row, name in rows:
        if key := known_key(row.key):
            found.setdefault(key, []).append(row.kernel(name))
    return found


def file_name(place: str) -> str:
    """Return the file name without its folder and part number: ``RegisterCPU.cpp``."""
    return _PART.sub("", place.rpartition(":")[0].rpartition("/")[2] or place)


def registry_with(stock: Stock, fallbacks: Mapping[DispatchKey, Kernel], members: Members) -> Registry:
    """Return a registry of operators and fallbacks whose tables follow the rules of a PyTorch with these aliases."""
    rules = rules_with(members)
    registry = Registry(type("EntryOfRelease", (OperatorEntry,), {"rules": rules, "covering_rules": covering(rules)}))
    registry.adopt(stock)
    registry.set_fallbacks(fallbacks)
    return registry
