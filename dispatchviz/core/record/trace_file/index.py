"""The index of a ``.dvtrace`` file: its columns, and the places of its blocks of events (``docs/trace-format.md``).

A file that grows gets a part of the index at regular intervals, so that only the rest must be written at the end. The
arrays are packed one by one, so that opening a long trace unpacks only those that the first screen needs.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dispatchviz.core.record.trace_file.blocks import INDEX, PART, block, index_place, payload_at, trailer
from dispatchviz.core.record.trace_file.columns import (
    ARRAYS,
    CHANGES,
    GROUPS,
    LINES,
    NAMES,
    NONE,
    PARTS_OF_GROUPS,
    Columns,
    Groups,
    Place,
)
from dispatchviz.core.record.trace_file.event_lines import decode_header, encode
from dispatchviz.core.record.trace_file.header import Header
from dispatchviz.core.record.trace_file.packing import Packer, unpacked
from dispatchviz.core.record.trace_file.stored_events import Blocks
from dispatchviz.foundation.unlocked_property import cached_property

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file.nesting import Changes

_TYPECODES = {"B": "u1", "i": "<i4", "I": "<u4", "q": "<i8"}
"""The types of the entries of arrays, and their names in NumPy."""
_BLOCKS = {"firsts": "i", "offsets": "q", "lengths": "i", "checksums": "I", "starts": "i", "sizes": "i"}


class _Array(msgspec.Struct, array_like=True):
    """An array in the index."""

    name: str
    typecode: str
    offset: int
    """The offset from the first array."""
    count: int
    packed: int = 0
    """The number of its bytes; 0 if it is not packed. A packed array of type ``i`` has the difference of each number to
    the one before.
    """


class _PartDirectory(msgspec.Struct):
    """The beginning of a part: a list of its arrays."""

    events: int
    """The number of its events."""
    keys: int
    """The number of names of keys at that time, which ``of_call`` uses as a factor."""
    parts: tuple[_Array, ...]


class _Directory(msgspec.Struct):
    """The first part of the index: a list of arrays, and everything that is not an array."""

    events: int
    header: str
    """The line of the header: a text within the text, in which lone surrogates are escaped twice."""
    kind_names: tuple[str, ...]
    operator_names: tuple[str, ...]
    key_names: tuple[str, ...]
    name_texts: tuple[str, ...]
    parts: tuple[_Array, ...]
    line_places: tuple[Place, ...] = ()
    before: tuple[int, ...] = ()
    """The places of the parts that were written before. The arrays here are about later events."""
    whole: bool = True
    """True if the columns of the nesting are right; otherwise they are computed from the parents."""


def part_block(columns: Columns, blocks: Blocks, changes: Changes, packer: Packer) -> bytes:
    """The block that is written to a file while it grows."""
    arrays, pieces = _packed(_named(columns, blocks, changes), packer)
    directory = _PartDirectory(len(columns.kinds), len(columns.key_names), arrays)
    return block(PART, _with_directory(encode(directory), pieces))


def index_blocks(
    header: Header, columns: Columns, blocks: Blocks, at: int, packer: Packer, grown: Grown | None = None
) -> Iterator[bytes]:
    """Yield the last bytes of a file, from offset ``at`` on, piece by piece: the index and its place."""
    arrays, pieces = _packed(_named(columns, blocks, None if grown is None else grown.changes), packer)
    directory = encode(
        _Directory(
            len(columns.kinds) + (0 if grown is None else grown.events),
            encode(header).decode(),
            columns.kind_names,
            tuple(map(_encodable, columns.operator_names)),
            tuple(map(_encodable, columns.key_names)),
            tuple(map(_encodable, columns.name_texts)),
            arrays,
            tuple(_encodable_place(place) for place in columns.line_places),
            *(() if grown is None else (tuple(grown.before), grown.whole)),
        )
    )
    yield block(INDEX, _with_directory(directory, pieces))
    yield trailer(at)


class Grown(Struct):
    """The parts of the index that a file has already."""

    before: Sequence[int]
    """The places of the parts."""
    events: int
    """The number of their events."""
    changes: Changes
    """The changes that the last part makes to their events."""
    whole: bool


def _with_directory(directory: bytes, pieces: Sequence[bytes]) -> bytes:
    directory += b" " * (-(len(directory) + 8) % 8)
    return b"".join((struct.pack("<Q", len(directory)), directory, *pieces))


def _packed(named: Iterator[tuple[str, str, Sequence[int]]], packer: Packer) -> tuple[tuple[_Array, ...], list[bytes]]:
    """The entries of arrays for the directory, and the bytes of the arrays."""
    arrays, pieces, offset = list[_Array](), list[bytes](), 0
    for name, typecode, values in named:
        raw = packer.packed(_little_endian(typecode, values)) if len(values) else b""
        arrays.append(_Array(name, typecode, offset, len(values), len(raw)))
        pieces.append(raw + bytes(-len(raw) % 8))
        offset += len(pieces[-1])
    return tuple(arrays), pieces


def _encodable(name: str) -> str:
    """A name in which lone surrogates are escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


def _encodable_place(place: Place) -> Place:
    return Place(_encodable(place.file), place.line, _encodable(place.function), place.resumed, place.begins)


def _named(columns: Columns, blocks: Blocks, changes: Changes | None) -> Iterator[tuple[str, str, Sequence[int]]]:
    """Yield all arrays, each with its name and the type of its entries."""
    for name, typecode in (ARRAYS | LINES).items():
        yield name, typecode, getattr(columns, name)
    for name, typecode in _BLOCKS.items():
        yield name, typecode, getattr(blocks, name)
    for name in GROUPS:
        groups: Groups = getattr(columns, name)
        for part in PARTS_OF_GROUPS:
            yield f"{name}_{part}", "i", getattr(groups, part)
    for name in CHANGES if changes is not None else ():
        yield f"changed_{name}", "i", getattr(changes, name).data


def _little_endian(typecode: str, values: Sequence[int]) -> bytes:
    import numpy as np  # a reader needs it for long traces only

    numbers = np.asarray(values, _TYPECODES[typecode])
    return (np.diff(numbers, prepend=numbers.dtype.type(0)) if typecode == "i" else numbers).tobytes()


# -- reading -----------------------------------------------------------------------------------------------------------


class Index(Struct, frozen=True):
    """The index of a complete file."""

    header: Header
    columns: Columns
    blocks: Blocks


class Part(Struct, frozen=True, dict=True):
    """A part of the index."""

    first: int
    events: int
    keys: int
    arrays: Arrays | MadeArrays

    @cached_property
    def groups(self) -> Mapping[str, Groups]:
        """The groups, which are unpacked when they are needed."""
        return {name: StoredGroups(self.arrays, name) for name in GROUPS}


def read_index(raw: memoryview) -> Index:
    """The index of a whole file. Raise ValueError if it has no sound one."""
    try:
        raw_directory, arrays = _split(payload_at(raw, index_place(raw), INDEX))
        directory = msgspec.json.decode(raw_directory, type=_Directory)
        if directory.events > len(raw):  # packed columns of any length might be forged
            raise ValueError("more events than bytes")
        parts = list(_parts_before(raw, directory.before))
        first = sum(part.events for part in parts)
        last = _part(first, directory.events - first, len(directory.key_names), directory.parts, arrays)
        return _index(directory, [*parts, last])
    except (KeyError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError("the index is damaged") from error


def _split(payload: memoryview) -> tuple[memoryview, memoryview]:
    """The directory at the beginning of a payload, and its arrays."""
    if len(payload) < 8:
        raise ValueError("the index is damaged")
    (size,) = struct.unpack("<Q", payload[:8])
    return payload[8 : 8 + size], payload[8 + size :]


def _parts_before(raw: memoryview, places: Sequence[int]) -> Iterator[Part]:
    if any(one >= other for one, other in pairwise(places)):
        raise ValueError("parts of the index are not in order")
    first = 0
    for at in places:
        raw_directory, arrays = _split(payload_at(raw, at, PART))
        directory = msgspec.json.decode(raw_directory, type=_PartDirectory)
        yield _part(first, directory.events, directory.keys, directory.parts, arrays)
        first += directory.events


def _part(first: int, events: int, keys: int, directory: Sequence[_Array], raw: memoryview) -> Part:
    arrays = Arrays(directory, raw)
    if any(each.count > first + events for each in directory):
        raise ValueError("an array is longer than the trace")
    for name in ARRAYS:
        if arrays.count(name) != events:
            raise ValueError(f"column {name} is not as long as the trace")
    for name in GROUPS:
        if arrays.count(f"{name}_begins") != arrays.count(f"{name}_numbers"):
            raise ValueError("there are groups without a beginning")
    _check_changes(arrays, first)
    return Part(first, events, keys, arrays)


def _check_changes(arrays: Arrays, first: int) -> None:
    """Raise ValueError if a part changes an event that is not before it."""
    steps, *others = (arrays.get(f"changed_{name}", ()) for name in CHANGES)
    if any(len(other) != len(steps) for other in others) or not all(0 <= step < first for step in steps):
        raise ValueError("a part changes events that are not before it")


class Arrays(Mapping[str, Sequence[int]]):
    """The arrays of a part by name. Each access unpacks one."""

    def __init__(self, directory: Sequence[_Array], raw: memoryview) -> None:
        self._directory, self._raw = {each.name: each for each in directory}, raw
        for each in directory:
            _check_array(each, raw)

    def __getitem__(self, name: str) -> Sequence[int]:
        each = self._directory[name]
        try:
            return _values(each, self._raw)
        except (ValueError, OverflowError):
            return array(each.typecode, [0]) * each.count

    def __contains__(self, name: object) -> bool:
        return name in self._directory

    def __iter__(self) -> Iterator[str]:
        return iter(self._directory)

    def __len__(self) -> int:
        return len(self._directory)

    def count(self, name: str) -> int:
        """Return the number of entries of an array, without unpacking it; 0 if there is none."""
        return self._directory[name].count if name in self._directory else 0

    def check(self) -> None:
        """Unpack all. Raise ValueError if an array is not packed as we pack it, which otherwise is read as zeros."""
        for each in self._directory.values():
            _values(each, self._raw)


class MadeArrays(dict[str, Sequence[int]]):
    """The arrays of a part in memory, by name."""

    def count(self, name: str) -> int:
        """Return the number of entries of an array; 0 if there is none."""
        return len(self.get(name, ()))

    def check(self) -> None:
        """Do nothing: these arrays were never packed."""


def made_part(first: int, columns: Columns, changes: Changes) -> Part:
    """The part of an index that a file does not have yet: the columns of the events from ``first`` on."""
    arrays = MadeArrays((name, values) for name, _, values in _named(columns, Blocks(), changes))
    return Part(first, len(columns.kinds), len(columns.key_names), arrays)


class StoredGroups(Groups):
    """Groups of a part. Those in a file are unpacked on first access."""

    def __init__(self, arrays: Arrays | MadeArrays, name: str) -> None:
        self._arrays, self._name = arrays, name

    def __getattr__(self, part: str) -> Sequence[int]:
        if part not in PARTS_OF_GROUPS:
            raise AttributeError(part)
        values = vars(self)[part] = self._arrays[f"{self._name}_{part}"]
        return values

    def __len__(self) -> int:
        return self._arrays.count(f"{self._name}_numbers")


def _index(directory: _Directory, parts: Sequence[Part]) -> Index:
    names: dict[str, Any] = {name: getattr(directory, name) for name in NAMES}
    blocks = Blocks(*(_joined_blocks(name, parts) for name in _BLOCKS))
    _check_blocks(blocks, directory.events)
    if not all(0 <= code < len(directory.kind_names) for part in parts for code in part.groups["of_kind"]):
        raise ValueError("there are kinds without a name")
    if len(parts) > 1 or directory.events > CHECKED:
        from dispatchviz.core.record.trace_file.joined_columns import joined_columns  # NumPy: long traces only

        columns = joined_columns(parts, directory.whole, names)
    else:
        arrays: dict[str, Any] = {name: parts[0].arrays.get(name, ()) for name in ARRAYS | LINES}
        columns = Columns(**arrays, **parts[0].groups, **names)  # type: ignore[arg-type]
    if directory.events <= CHECKED:
        for part in parts:
            part.arrays.check()
        _check_columns(columns, directory.events)
        for part in parts:
            _check_groups(part, directory.events)
    header: Any = decode_header(directory.header.encode(), Header)
    return Index(header, columns, blocks)


def _joined_blocks(name: str, parts: Sequence[Part]) -> Sequence[int]:
    values = array(_BLOCKS[name])
    for part in parts:
        values.extend(part.arrays.get(name) or bytes(len(part.arrays["firsts"])))  # earlier versions have no sizes
    return values


CHECKED = 50_000
"""The number of events up to which columns are checked number by number, even if their checksum is right. For longer
traces that would take as long as reading the events.
"""


def _check_columns(columns: Columns, events: int) -> None:
    """Raise ValueError if a column refers to a step outside of the trace, or to no entry."""
    bounds = {
        **dict.fromkeys(("parents", "depths", "ends", "siblings", "lines", "callers"), events),
        "kinds": len(columns.kind_names),
        "operators": len(columns.operator_names),
        "keys": len(columns.key_names),
        "names": len(columns.name_texts),
        "places": len(columns.line_places),
    }
    for name, bound in bounds.items():
        column: Sequence[int] = getattr(columns, name)
        if min(column, default=0) < NONE or max(column, default=NONE) >= bound:
            raise ValueError(f"column {name} leads out of the trace")
    if any(end < at for at, end in enumerate(columns.ends)) or any(at <= up for at, up in enumerate(columns.parents)):
        raise ValueError("events are not within each other")


def _check_groups(part: Part, events: int) -> None:
    for groups in part.groups.values():
        steps, begins = groups.steps, groups.begins
        if min(steps, default=0) < 0 or max(steps, default=0) >= max(events, 1):
            raise ValueError("a group has steps that are not there")
        if any(one >= other for one, other in pairwise([-1, *begins, len(steps)])):
            raise ValueError("groups do not follow each other")
        if any(one >= other for one, other in pairwise(groups.numbers)):
            raise ValueError("the numbers of groups are not in order")


def _check_blocks(blocks: Blocks, events: int) -> None:
    """Raise ValueError if the blocks do not contain ``events`` events, one after the other."""
    firsts = list(blocks.firsts)
    if len({len(column) for column in blocks.columns()}) > 1 or len(firsts) > events:
        raise ValueError("the columns of the blocks differ in length")
    if firsts[:1] != [0][:events] or any(one >= other for one, other in pairwise([*firsts, events])):
        raise ValueError("the blocks do not follow each other")
    if min((*blocks.lengths, *blocks.offsets, *blocks.starts, *blocks.sizes), default=0) < 0:
        raise ValueError("a block is nowhere in the file")


def _check_array(each: _Array, arrays: memoryview) -> None:
    """Raise ValueError if the file does not have the bytes of an array."""
    if each.typecode not in _TYPECODES:
        raise ValueError(f"no such type: {each.typecode}")
    size = each.packed or array(each.typecode).itemsize * each.count
    if min(each.count, each.packed) < 0 or not 0 <= each.offset <= each.offset + size <= len(arrays):
        raise ValueError(f"column {each.name} is not in the file")


def _values(each: _Array, arrays: memoryview) -> Sequence[int]:
    """The entries of an array. Raise ValueError or OverflowError if it is not packed as we pack it."""
    size = array(each.typecode).itemsize * each.count
    raw: Any = arrays[each.offset : each.offset + (each.packed or size)]
    if each.packed:
        raw = memoryview(unpacked(raw, size))
        if len(raw) != size:
            raise ValueError(f"column {each.name} is not as long as it says")
    if sys.byteorder == "big":
        swapped = array(each.typecode, bytes(raw))
        swapped.byteswap()
        raw = memoryview(swapped).cast("B")
    values: memoryview[int] = raw.cast(each.typecode)
    return _sums(values) if each.packed and each.typecode == "i" else values


def _sums(differences: memoryview[int]) -> Sequence[int]:
    """The numbers whose differences are given."""
    if len(differences) <= CHECKED:
        return memoryview(array("i", accumulate(differences)))

    import numpy as np  # loading it takes longer than short traces

    return np.frombuffer(differences, np.int32).cumsum(dtype=np.int32).data
