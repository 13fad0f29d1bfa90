"""The blocks of a ``.dvtrace`` file, each with its length and checksum; ``docs/trace-format.md`` describes them.

A file that is being written is one whole block after the other, so it can be read up to the last. The index, and where
it is, come when it is complete.
"""

from __future__ import annotations

import mmap
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from dispatchviz.core.record.trace_file.columns import NONE, Columns, Groups, Place
from dispatchviz.core.record.trace_file.event_lines import decode_header, encode
from dispatchviz.core.record.trace_file.header import FORMAT, Header
from dispatchviz.core.record.trace_file.stored_events import Blocks, Source

MAGIC = b"\x89dvtrace"
"""How a file begins; the version follows, four bytes."""
BEGIN = MAGIC + struct.pack("<I", FORMAT) + bytes(4)

HEADER, SOURCES, EVENTS, INDEX = b"HEAD", b"TEXT", b"EVNT", b"INDX"
"""What a block is: the header, texts of the program's files, lines of events, the index."""

_FRAME = struct.Struct("<4sIQII")
"""Kind, number of events, length and CRC-32 of what follows, CRC-32 of this before it."""
FRAME_SIZE = _FRAME.size
_TRAILER = struct.Struct("<QI8s")
"""The last bytes of a complete file: where the index is, the CRC-32 of that, eight known bytes."""
_END = b"dvtrend\n"


def block(kind: bytes, payload: bytes, events: int = 0, checksum: int | None = None) -> bytes:
    """The bytes of a block, padded to a multiple of eight."""
    checksum = zlib.crc32(payload) if checksum is None else checksum
    frame = _FRAME.pack(kind, events, len(payload), checksum, 0)
    frame = frame[:-4] + struct.pack("<I", zlib.crc32(frame[:-4]))
    return b"".join((frame, payload, bytes(-len(payload) % 8)))


@dataclass(frozen=True)
class Found:
    """A block in a file."""

    kind: bytes
    events: int
    offset: int
    """Where its payload begins."""
    length: int
    checksum: int

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.offset + self.length + -self.length % 8


def scan(source: Source, at: int = len(BEGIN)) -> Iterator[Found]:
    """The blocks of a file from an offset on, up to the first frame that is damaged; what is in them is not looked
    at."""
    while len(raw := source.read_at(at, FRAME_SIZE)) == FRAME_SIZE:
        kind, events, length, checksum, frame_checksum = _FRAME.unpack(raw)
        if zlib.crc32(raw[:-4]) != frame_checksum:
            return
        found = Found(kind, events, at + FRAME_SIZE, length, checksum)
        yield found
        at = found.end


# -- the index ---------------------------------------------------------------------------------------------------------

_GROUPS = ("of_kind", "of_node", "of_tensor", "of_name", "of_result", "of_storage", "of_detached", "of_call")
_PARTS_OF_GROUPS = ("numbers", "begins", "steps")
_ARRAYS = {
    "kinds": "B", "parents": "i", "depths": "i", "ends": "i", "siblings": "i", "lines": "i", "operators": "i",
    "keys": "i", "nodes": "i", "tensors": "i", "names": "i",
}  # fmt: skip
"""The columns that have an entry for each event, and how an entry is stored."""
_LINES = {"places": "i", "callers": "i"}
"""Those that have one for each SourceLine."""
_TYPECODES = ("B", "i", "I", "q")
_BLOCKS = {"firsts": "i", "offsets": "q", "lengths": "i", "checksums": "I"}


class _Part(msgspec.Struct, array_like=True):
    """An array in the index."""

    name: str
    typecode: str
    offset: int
    """From the first array on."""
    count: int


class _Directory(msgspec.Struct):
    """The first part of the index: what arrays there are, and all that is no array."""

    events: int
    header: str
    """Its line: a text within the text, in which lone surrogates are written out twice."""
    kind_names: tuple[str, ...]
    operator_names: tuple[str, ...]
    key_names: tuple[str, ...]
    name_texts: tuple[str, ...]
    parts: tuple[_Part, ...]
    line_places: tuple[Place, ...] = ()


def index_blocks(header: Header, columns: Columns, blocks: Blocks, at: int) -> Iterator[bytes]:
    """The last bytes of a file, from offset ``at`` on, piece by piece: the index and where it is."""
    parts, pieces, offset = [], [], 0
    for name, typecode, values in _columns_givenof(columns, blocks):
        raw = _little_endian(typecode, values)
        parts.append(_Part(name, typecode, offset, len(values)))
        padded = raw + bytes(-len(raw) % 8)
        pieces.append(padded)
        offset += len(padded)
    directory = encode(
        _Directory(
            len(columns.kinds),
            encode(header).decode(),
            columns.kind_names,
            tuple(map(_encodable, columns.operator_names)),
            tuple(map(_encodable, columns.key_names)),
            tuple(map(_encodable, columns.name_texts)),
            tuple(parts),
            tuple(_encodable_place(place) for place in columns.line_places),
        )
    )
    directory += b" " * (-(len(directory) + 8) % 8)
    yield block(INDEX, b"".join((struct.pack("<Q", len(directory)), directory, *pieces)))
    yield _TRAILER.pack(at, zlib.crc32(struct.pack("<Q", at)), _END)


def _encodable(name: str) -> str:
    """A name in which lone surrogates are written out."""
    return name.encode("utf-8", "backslashreplace").decode()


def _encodable_place(place: Place) -> Place:
    return Place(_encodable(place.file), place.line, _encodable(place.function), place.resumed, place.begins)


def _columns_givenof(columns: Columns, blocks: Blocks) -> Iterator[tuple[str, str, Sequence[int]]]:
    for name, typecode in (_ARRAYS | _LINES).items():
        yield name, typecode, getattr(columns, name)
    for name, typecode in _BLOCKS.items():
        yield name, typecode, getattr(blocks, name)
    for name in _GROUPS:
        groups: Groups = getattr(columns, name)
        for part in _PARTS_OF_GROUPS:
            yield f"{name}_{part}", "i", getattr(groups, part)


def _little_endian(typecode: str, values: Sequence[int]) -> bytes:
    if isinstance(values, memoryview) and values.format == typecode and sys.byteorder == "little":
        return values.tobytes()
    numbers = array(typecode, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


@dataclass(frozen=True)
class Index:
    """The index of a complete file."""

    header: Header
    columns: Columns
    blocks: Blocks


def read_index(raw: memoryview) -> Index:
    """The index at the end of a whole file. Raises ValueError if there is none that is sound."""
    if len(raw) < len(BEGIN) + FRAME_SIZE + _TRAILER.size:
        raise ValueError("too short")
    at, checksum, end = _TRAILER.unpack(raw[-_TRAILER.size :])
    if end != _END or checksum != zlib.crc32(struct.pack("<Q", at)) or at > len(raw) - FRAME_SIZE:
        raise ValueError("no trailer")
    kind, _, length, checksum, _ = _FRAME.unpack(raw[at : at + FRAME_SIZE])
    payload = raw[at + FRAME_SIZE : at + FRAME_SIZE + length]
    if kind != INDEX or len(payload) != length or _checksum(payload) != checksum or length < 8:
        raise ValueError("the index is damaged")
    (size,) = struct.unpack("<Q", payload[:8])
    try:
        directory = msgspec.json.decode(payload[8 : 8 + size], type=_Directory)
        return _index(directory, payload[8 + size :])
    except (KeyError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError("the index is damaged") from error


def _checksum(part: memoryview) -> int:
    """Of a part of a file that is mapped: it stands in memory no longer than it is looked at."""
    checksum, mapped = 0, part.obj
    for at in range(0, len(part), _PIECE):
        checksum = zlib.crc32(part[at : at + _PIECE], checksum)
        if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)
    return checksum


_PIECE = 1 << 24


def _index(directory: _Directory, arrays: memoryview) -> Index:
    parts = {part.name: _values(part, arrays) for part in directory.parts}
    for name in _ARRAYS:
        if len(parts[name]) != directory.events:
            raise ValueError(f"column {name} is not as long as the trace")
    groups: Any = {name: Groups(*(parts[f"{name}_{part}"] for part in _PARTS_OF_GROUPS)) for name in _GROUPS}
    if any(len(each.begins) != len(each.numbers) for each in groups.values()):
        raise ValueError("there are groups without a beginning")
    columns_given: Any = {name: parts[name] for name in _ARRAYS} | {name: parts.get(name, ()) for name in _LINES}
    columns = Columns(
        **columns_given,
        **groups,
        kind_names=directory.kind_names,
        operator_names=directory.operator_names,
        key_names=directory.key_names,
        name_texts=directory.name_texts,
        line_places=directory.line_places,
    )
    header: Any = decode_header(directory.header.encode(), Header)
    blocks = Blocks(*(parts[name] for name in _BLOCKS))
    _check_blocks(blocks, directory.events)
    if not all(0 <= code < len(columns.kind_names) for code in columns.of_kind):
        raise ValueError("there are kinds without a name")
    if directory.events <= CHECKED:
        _check_columns(columns, directory.events)
    return Index(header, columns, blocks)


CHECKED = 50_000
"""The columns of traces up to so many events are looked at number by number, though their checksum is right; of longer
ones that would take as long as reading the events."""


def _check_columns(columns: Columns, events: int) -> None:
    """Raises ValueError if a column leads out of the trace, or nowhere."""
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
    for name in _GROUPS:
        _check_groups(getattr(columns, name), events)


def _check_groups(groups: Groups, events: int) -> None:
    steps, begins = groups.steps, groups.begins
    if min(steps, default=0) < 0 or max(steps, default=0) >= max(events, 1):
        raise ValueError("a group has steps that are not there")
    if any(one >= other for one, other in pairwise([-1, *begins, len(steps)])):
        raise ValueError("groups do not follow each other")
    if any(one >= other for one, other in pairwise(groups.numbers)):
        raise ValueError("the numbers of groups are not in order")


def _check_blocks(blocks: Blocks, events: int) -> None:
    """Raises ValueError if the blocks are not those of so many events, one after the other."""
    firsts = list(blocks.firsts)
    if len({len(column) for column in blocks.columns()}) > 1 or len(firsts) > events:
        raise ValueError("the blocks are not told alike")
    if firsts[:1] != [0][:events] or any(one >= other for one, other in pairwise([*firsts, events])):
        raise ValueError("the blocks do not follow each other")
    if min((*blocks.lengths, *blocks.offsets), default=0) < 0:
        raise ValueError("a block is nowhere in the file")


def _values(part: _Part, arrays: memoryview) -> Sequence[int]:
    if part.typecode not in _TYPECODES:
        raise ValueError(f"no such type: {part.typecode}")
    size = array(part.typecode).itemsize * part.count
    if not 0 <= part.offset <= part.offset + size <= len(arrays):
        raise ValueError(f"column {part.name} is not in the file")
    raw: Any = arrays[part.offset : part.offset + size]
    if sys.byteorder == "big":
        swapped = array(part.typecode, bytes(raw))
        swapped.byteswap()
        return swapped
    values: memoryview[int] = raw.cast(part.typecode)
    return values
