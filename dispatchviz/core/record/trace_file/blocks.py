"""The blocks of a ``.dvtrace`` file, each with its length and checksum. ``docs/trace-format.md`` describes them.

A file that is being written is a sequence of whole blocks, so it can be read up to the last one. ``index.py`` has the
content of the blocks of the index.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator

from msgspec import Struct

from dispatchviz.core.record.trace_file.stored_events import Source

MAGIC = b"\x89dvtrace"
"""The first bytes of a file. The version follows, in four bytes."""
VERSION = 4
"""The version of the blocks. A reader refuses a higher one. Since 4, lines and the arrays of the index are packed. The
header has the format of the lines, which are those of a ``.jsonl`` file.
"""
BEGIN = MAGIC + struct.pack("<I", VERSION) + bytes(4)

HEADER, SOURCES, EVENTS, PART, INDEX = b"HEAD", b"TEXT", b"PACK", b"PART", b"INDX"
"""The kinds of blocks: the header, texts of the program's files, lines of events, a part of the index, its end."""
PLAIN = b"EVNT"
"""The kind of the blocks of lines that are not packed, in files of version 3."""

_FRAME = struct.Struct("<4sIQII")
"""The frame of a block: kind, number of events, length and CRC-32 of the payload that follows, CRC-32 of the frame's
bytes before it.
"""
FRAME_SIZE = _FRAME.size
_TRAILER = struct.Struct("<QI8s")
"""The last bytes of a complete file: the place of the index, the CRC-32 of that, eight known bytes."""
_END = b"dvtrend\n"


def block(kind: bytes, payload: bytes, events: int = 0, checksum: int | None = None) -> bytes:
    """The bytes of a block, padded to a multiple of eight."""
    checksum = zlib.crc32(payload) if checksum is None else checksum
    frame = _FRAME.pack(kind, events, len(payload), checksum, 0)
    frame = frame[:-4] + struct.pack("<I", zlib.crc32(frame[:-4]))
    return b"".join((frame, payload, bytes(-len(payload) % 8)))


class Found(Struct, frozen=True):
    """A block in a file."""

    kind: bytes
    events: int
    offset: int
    """The offset at which its payload begins."""
    length: int
    checksum: int

    @property
    def end(self) -> int:
        """The offset at which the next block begins."""
        return self.offset + self.length + -self.length % 8


def scan(source: Source, at: int = len(BEGIN)) -> Iterator[Found]:
    """Yield the blocks of a file from an offset on, up to the first frame that is damaged. Their content is not
    checked.
    """
    while len(raw := source.read_at(at, FRAME_SIZE)) == FRAME_SIZE:
        kind, events, length, checksum, frame_checksum = _FRAME.unpack(raw)
        if zlib.crc32(raw[:-4]) != frame_checksum:
            return
        found = Found(kind, events, at + FRAME_SIZE, length, checksum)
        yield found
        at = found.end


def trailer(at: int) -> bytes:
    """The last bytes of a complete file, which contain the place of its index."""
    return _TRAILER.pack(at, zlib.crc32(struct.pack("<Q", at)), _END)


def index_place(raw: memoryview) -> int:
    """The place of the index of a whole file. Raise ValueError if the file does not have it."""
    if len(raw) < len(BEGIN) + FRAME_SIZE + _TRAILER.size:
        raise ValueError("too short")
    at, checksum, end = _TRAILER.unpack(raw[-_TRAILER.size :])
    if end != _END or checksum != zlib.crc32(struct.pack("<Q", at)):
        raise ValueError("no trailer")
    return int(at)


def payload_at(raw: memoryview, at: int, expected: bytes) -> memoryview:
    """The payload of the block of that kind at an offset of a whole file. Raise ValueError if it is damaged."""
    if not 0 <= at <= len(raw) - FRAME_SIZE:
        raise ValueError("a block is nowhere in the file")
    kind, _, length, checksum, _ = _FRAME.unpack(raw[at : at + FRAME_SIZE])
    payload = raw[at + FRAME_SIZE : at + FRAME_SIZE + length]
    if kind != expected or len(payload) != length or _checksum(payload) != checksum:
        raise ValueError("a block is damaged")
    return payload


def _checksum(part: memoryview) -> int:
    """The CRC-32 of a part of a mapped file. Each piece leaves memory once it is read."""
    checksum, mapped = 0, part.obj
    for at in range(0, len(part), _PIECE):
        checksum = zlib.crc32(part[at : at + _PIECE], checksum)
        if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)
    return checksum


_PIECE = 1 << 24
