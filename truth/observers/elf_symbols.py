"""Functions of a shared library of PyTorch, and the source file of each, read from the symbol table.

The table of an ELF file (``.symtab``) lists the source file of every linked object, followed by that object's local
symbols. The linker puts the code of one object in one piece. So a function that is visible to others, which has no file
next to it, lies between local functions of its own file.

This needs no installation and no compiler tools: names are parsed as far as they are plain.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

LOCAL, FUNCTION, FILE = 0, 2, 4
"""The binding of a symbol, and kinds of symbols."""

_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_RELOCATION = struct.Struct("<QQq")

SOURCE = re.compile(
    rb"(?<=\0)[\w./-]*?((?:build/aten/src|aten/src|torch/csrc|torch/nativert|c10)/[\w/.-]+\.(?:cpp|h|cu|cuh))\0"
)
"""A path in an error message."""

JUMP = re.compile(rb"\xff\x25(.{4})", re.DOTALL)
"""The instruction of an entry of the procedure linkage table: ``jmp [rip + offset]``."""

GLOB_DAT, JUMP_SLOT = 6, 7
"""Kinds of relocations that write the address of a symbol into a slot."""

LEA = re.compile(rb"[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4})", re.DOTALL)
"""The x86 instruction that loads the address of a text: ``lea r, [rip + offset]``."""


class Section(NamedTuple):
    """A section of the file."""

    address: int
    offset: int
    size: int


class Object(NamedTuple):
    """A compiled and linked source file."""

    name: str
    """The name without folders, such as ``BinaryOps.cpp``."""
    number: int
    """The position in the order of linking, which is alphabetical within a folder."""


class Function(NamedTuple):
    """A function, one for each overload."""

    name: str
    """The plain name, such as ``at::native::structured_sum_out::impl``."""
    address: int
    size: int


class Library:
    """A shared library. Raise ValueError unless it is a 64-bit ELF file with a symbol table."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        if self._data[:5] != b"\x7fELF\x02":
            raise ValueError(f"{path} is no ELF file of 64 bits")
        self.sections = dict(self._sections())
        if ".symtab" not in self.sections:
            raise ValueError(f"{path} has no symbol table")
        self.objects: list[Object] = []
        self.locals: list[tuple[int, Object]] = []
        """The address of each local function and its object, in ascending order."""
        self.functions: list[Function] = []
        self._read()
        self._addresses = [address for address, _ in self.locals]

    def _sections(self) -> Iterator[tuple[str, Section]]:
        (table,) = struct.unpack_from("<Q", self._data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self._data, 0x3A)
        rows = [_SECTION.unpack_from(self._data, table + i * size) for i in range(count)]
        for name, _, _, address, offset, length, *_ in rows:
            yield self._text(rows[names][4] + name), Section(address, offset, length)

    def _content(self, name: str) -> memoryview:
        """The bytes of a section."""
        section = self.sections[name]
        return memoryview(self._data)[section.offset : section.offset + section.size]

    def _text(self, offset: int) -> str:
        return self._data[offset : self._data.index(b"\0", offset)].decode("latin1")

    def _read(self) -> None:
        names, code = (self.sections[name] for name in (".strtab", ".text"))
        current: Object | None = None
        for at, info, _, _, value, size in _SYMBOL.iter_unpack(self._content(".symtab")):
            kind = info & 15
            if kind == FILE:
                current = Object(self._text(names.offset + at), len(self.objects))
                self.objects.append(current)
            elif kind == FUNCTION and code.address <= value < code.address + code.size:
                mangled = self._text(names.offset + at)
                if ".cold" in mangled:  # parts that rarely run, which the compiler moves elsewhere
                    continue
                if info >> 4 == LOCAL and current is not None:
                    self.locals.append((value, current))
                if name := plain_name(mangled):
                    self.functions.append(Function(name, value, size))
        last = self.objects[-1]  # its own symbols are followed by the hidden ones of all objects
        self.locals = sorted((address, object_) for address, object_ in self.locals if object_ != last)

    def objects_at(self, address: int) -> set[Object]:
        """The object whose code is at an address, or both neighbors if the address is between two objects."""
        after = bisect_right(self._addresses, address)
        return {self.locals[at][1] for at in (after - 1, after) if 0 <= at < len(self.locals)}

    @cached_property
    def initialized(self) -> list[str]:
        """The source files, without folders, whose static initializers run when the library is loaded, in this
        order.
        """
        array, entries = self.sections[".init_array"], _RELOCATION.iter_unpack(self._content(".rela.dyn"))
        functions = sorted((at, to) for at, _, to in entries if 0 <= at - array.address < array.size)
        of = dict(self.locals)
        return [of[to].name for _, to in functions if to in of]

    @cached_property
    def names(self) -> bytes:
        """The names of all symbols, as mangled by the compiler."""
        return bytes(self._content(".strtab"))

    def addresses(self, pattern: str) -> dict[int, str]:
        """The addresses through which code refers to functions and variables whose mangled names match, with their
        plain names.

        These are their own addresses, the slots that hold their addresses, and the jumps through those slots.
        """
        own = {address: name for name, address in self._symbols(".symtab", ".strtab") if address}
        dynamic = [name for name, _ in self._symbols(".dynsym", ".dynstr")]
        cells = {at: dynamic[symbol] for at, symbol in self._cells()}
        jumps = {at: cells[cell] for at, cell in self._jumps() if cell in cells}
        wanted = re.compile(pattern)
        return {at: plain_name(name) for at, name in (own | cells | jumps).items() if wanted.search(name)}

    def _symbols(self, table: str, names: str) -> Iterator[tuple[str, int]]:
        texts = self.sections[names]
        return ((self._text(texts.offset + row[0]), row[4]) for row in _SYMBOL.iter_unpack(self._content(table)))

    def _cells(self) -> Iterator[tuple[int, int]]:
        """Yield the slots that receive an address when the library is loaded, with the number of the symbol."""
        for name in (".rela.dyn", ".rela.plt"):
            rows = _RELOCATION.iter_unpack(self._content(name))
            yield from ((at, info >> 32) for at, info, _ in rows if info & 0xFFFFFFFF in (GLOB_DAT, JUMP_SLOT))

    def _jumps(self) -> Iterator[tuple[int, int]]:
        """Yield the entries of the procedure linkage table, with the slot that each jumps through."""
        section = self.sections[".plt"]
        for found in JUMP.finditer(self._data, section.offset, section.offset + section.size):
            at = section.address + found.start() - section.offset
            yield at, at + 6 + int.from_bytes(found[1], "little", signed=True)

    def reached(self, function: Function, addresses: Mapping[int, str]) -> set[str]:
        """The names of the addresses that a function calls or reads.

        Its code refers to them by relative 4-byte offsets.
        """
        code = self._code(function)
        ends = ((at + 4, int.from_bytes(code[at : at + 4], "little", signed=True)) for at in range(len(code) - 3))
        return {addresses[to] for end, offset in ends if (to := function.address + end + offset) in addresses}

    def _code(self, function: Function) -> bytes:
        start = self.sections[".text"].offset + function.address - self.sections[".text"].address
        return self._data[start : start + function.size]

    @cached_property
    def paths(self) -> dict[int, str]:
        """The source files that error messages name, by the address of the text."""
        address = self.sections[".rodata"].address
        return {address + found.start(): found[1].decode() for found in SOURCE.finditer(self._content(".rodata"))}

    def paths_in(self, function: Function) -> set[str]:
        """The files that the error messages of a function name: its own, and those of inlined functions."""
        code = self._code(function)
        ends = ((found.end(), int.from_bytes(found[1], "little", signed=True)) for found in LEA.finditer(code))
        return {self.paths[target] for end, offset in ends if (target := function.address + end + offset) in self.paths}


_PREFIX = re.compile(r"_ZN?K?L?")
_PART = re.compile(r"L?(\d+)")


def plain_name(mangled: str) -> str:
    """The plain name of a mangled one: ``at::native::structured_sum_out::impl`` for
    ``_ZN2at6native18structured_sum_out4implE...``.

    It is empty for a name with template arguments, and for anything that is not a C++ function.
    """
    match = _PREFIX.match(mangled)
    if match is None:
        return ""
    parts, at = [], match.end()
    while number := _PART.match(mangled, at):
        at = number.end() + int(number[1])
        parts.append(mangled[number.end() : at])
        if not mangled.startswith("_ZN"):
            break
    if mangled.startswith("_ZN") and mangled[at : at + 1] != "E":
        return ""
    return "::".join("(anonymous namespace)" if part.startswith("_GLOBAL__N") else part for part in parts)
