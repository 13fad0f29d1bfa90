"""Functions of a shared library, found by parts of their mangled names in the symbol table of the ELF file.

A release build of PyTorch keeps its local symbols, so kernels in anonymous namespaces are found. A debugger could look
names up as well, but it takes seconds for each, and it also stops in the stubs (``@plt``) of other libraries.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dispatchviz.foundation.errors import DispatchvizError

FUNCTION = 2
"""The type of a function's symbol, in the lower half of its info byte."""

SYMBOL_TABLE, DYNAMIC_SYMBOLS = 2, 11
"""Types of sections. A stripped library has only the second, with its exported symbols."""

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTIONS_AT, _SECTIONS = 40, 60
"""The places in an ELF header of the section headers' offset, and of their number."""


class Function(NamedTuple):
    """A function of a library."""

    mangled: str
    offset: int
    """The offset from where the library is loaded."""
    size: int


def functions_with(library: Path, parts: Sequence[str]) -> tuple[Function, ...]:
    """Return the functions whose mangled names contain one of the parts, in the order of their addresses."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:5] != b"\x7fELF\x02":
            raise DispatchvizError(f"{library} is not a 64-bit ELF file: the C++ stack can be read only on Linux")
        symbols, strings = _tables(data)
        names = dict(_names(data, strings, [part.encode() for part in parts]))
        found = _functions(data[symbols[0] : symbols[0] + symbols[1]], names)
        return tuple(sorted(set(found), key=lambda each: each.offset))


def _tables(data: mmap.mmap) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return offset and size of the symbol table, and of the table of its names."""
    (at,), (count,) = struct.unpack_from("<Q", data, _SECTIONS_AT), struct.unpack_from("<H", data, _SECTIONS)
    sections = [_SECTION.unpack_from(data, at + number * _SECTION.size) for number in range(count)]
    tables = [each for kind in (SYMBOL_TABLE, DYNAMIC_SYMBOLS) for each in sections if each[1] == kind]
    if not tables:
        return (0, 0), (0, 0)
    strings = sections[tables[0][6]]
    return (tables[0][4], tables[0][5]), (strings[4], strings[5])


def _names(data: mmap.mmap, strings: tuple[int, int], parts: Sequence[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the names that contain one of the parts, by their offsets in the section."""
    start, size = strings
    for part in parts:
        at = data.find(part, start, start + size)
        while at >= 0:
            begin, end = data.rfind(b"\0", start, at) + 1, data.find(b"\0", at)
            yield begin - start, data[begin:end].decode("ascii", "replace")
            at = data.find(part, end, start + size)


def _functions(symbols: bytes, names: dict[int, str]) -> Iterator[Function]:
    for name, info, _, section, value, size in _SYMBOL.iter_unpack(symbols):
        if name in names and info & 15 == FUNCTION and section:
            yield Function(names[name], value, size)


def is_part(mangled: str) -> bool:
    """Return whether it is a piece that the compiler split off a function: ``f.cold``, ``f.part.0``."""
    return re.search(r"\.(?:cold|part|constprop)\b", mangled) is not None
