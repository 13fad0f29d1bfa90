"""The events of a trace file, decoded on access: a sequence that keeps only a few blocks in memory."""

from __future__ import annotations

import os
import threading
import weakref
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Generic, NamedTuple, Protocol, TypeVar, overload

from msgspec import Struct, field

from dispatchviz.core.record.events import AnyEvent, Unknown
from dispatchviz.core.record.trace_file.columns import NONE, Columns
from dispatchviz.core.record.trace_file.event_lines import (
    LONGEST,
    LineError,
    decode_lines,
    decode_some,
    encode_lines,
)
from dispatchviz.core.record.trace_file.packing import unpacked

EVENTS_PER_BLOCK = 256
"""The number of events of a block, which is decoded as a whole, in less than a fifth of a millisecond."""

BLOCKS_PER_PACK = 8
"""The number of blocks that are packed as one. It takes a fifth of a millisecond to unpack them; the iterations of a
loop have much in common, so a block that is packed alone takes twice as many bytes.
"""

KEPT = 64
"""The number of decoded blocks that are kept."""

KEPT_PACKS = 8
"""The number of unpacked packs that are kept."""

DAMAGED = '["this part of the file is damaged"]'
"""The fields of an event that cannot be read."""


class Source(Protocol):
    """A source of the bytes of events, piece by piece. A file is not mapped, since one that shrinks would end the
    process.
    """

    def read_at(self, at: int, length: int) -> bytes:
        """Return ``length`` bytes, or fewer at the end."""
        ...


class FileSource:
    """An open file, which is closed when it has no more readers."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._reading = threading.Lock()
        weakref.finalize(self, os.close, descriptor)

    def read_at(self, at: int, length: int) -> bytes:
        """Return bytes of the file; empty if it cannot be read."""
        try:
            with self._reading:
                os.lseek(self.descriptor, at, os.SEEK_SET)
                return os.read(self.descriptor, length)
        except (OSError, OverflowError):  # a damaged file contains offsets outside of the file
            return b""


class BytesSource:
    """Bytes in memory."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def read_at(self, at: int, length: int) -> bytes:
        """Return ``length`` bytes, or fewer at the end."""
        return self._raw[at : at + length]


class Pack(NamedTuple):
    """The place of some lines in a file, packed or not."""

    offset: int
    length: int
    """The number of their bytes in the file."""
    checksum: int
    """The CRC-32 of these bytes."""


class Blocks(Struct, frozen=True):
    """The places of the blocks of events."""

    firsts: Sequence[int] = field(default_factory=lambda: array("i"))
    """The ``seq`` of the first event of each block."""
    offsets: Sequence[int] = field(default_factory=lambda: array("q"))
    """The offset in the file of each block's pack, or of its lines if they are not packed."""
    lengths: Sequence[int] = field(default_factory=lambda: array("i"))
    """The number of bytes there."""
    checksums: Sequence[int] = field(default_factory=lambda: array("I"))
    """The CRC-32 of the bytes there."""
    starts: Sequence[int] = field(default_factory=lambda: array("i"))
    """The offset of each block's lines in its unpacked pack."""
    sizes: Sequence[int] = field(default_factory=lambda: array("i"))
    """The number of bytes of each block's lines; 0 if they are not packed."""

    def add(self, first: int, pack: Pack, start: int = 0, size: int = 0) -> None:
        """Add the block that comes next."""
        for column, value in zip(self.columns(), (first, *pack, start, size), strict=True):
            assert isinstance(column, array)
            column.append(value)

    def copy(self) -> Blocks:
        """Return a copy, which does not grow."""
        return Blocks(*(column[:] for column in self.columns()))

    def columns(self) -> tuple[Sequence[int], ...]:
        """Return all six columns."""
        return self.firsts, self.offsets, self.lengths, self.checksums, self.starts, self.sizes


K = TypeVar("K")
V = TypeVar("V")


class _Recent(Generic[K, V]):
    """The values of the keys that were used last. Several threads may ask at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.known: dict[K, V] = {}
        """The values, the one used last at the end."""

    def get(self, key: K, find: Callable[[K], V]) -> V:
        """Return the value of a key, which ``find`` finds if it is not known."""
        known = self.known
        value = known.pop(key, None)
        if value is None:
            value = find(key)
            if len(known) >= self._most:
                with suppress(KeyError, RuntimeError):  # another thread has just changed it
                    del known[next(iter(known))]
        known[key] = value
        return value


class StoredEvents(Sequence[AnyEvent]):
    """All events of a file. A damaged event is an ``Unknown`` of the kind that the file's index has."""

    def __init__(self, source: Source, blocks: Blocks, columns: Columns) -> None:
        self._source, self._blocks, self.columns = source, blocks, columns
        self._decoded = _Recent[int, list[AnyEvent]](KEPT)
        """The events of blocks."""
        self._unpacked = _Recent[Pack, bytes](KEPT_PACKS)
        """The unpacked packs; empty if they are damaged."""

    def __len__(self) -> int:
        return len(self.columns.kinds)

    def __reduce__(self) -> tuple[type[tuple[AnyEvent, ...]], tuple[list[AnyEvent]]]:
        """Return a tuple for pickling, since another process does not have the file open."""
        return tuple, (list(self),)

    @overload
    def __getitem__(self, at: int) -> AnyEvent: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[AnyEvent]: ...
    def __getitem__(self, at: int | slice) -> AnyEvent | Sequence[AnyEvent]:
        if isinstance(at, slice):
            return tuple(map(self.__getitem__, range(*at.indices(len(self)))))
        seq = at if at >= 0 else at + len(self)
        if not 0 <= seq < len(self):
            raise IndexError(f"there is no step {at} among {len(self)}")
        block = bisect_right(self._blocks.firsts, seq) - 1
        return self._decoded.get(block, self._decode)[seq - self._blocks.firsts[block]]

    def __iter__(self) -> Iterator[AnyEvent]:
        for block in range(len(self._blocks.firsts)):
            yield from self._decoded.known.get(block) or self._decode(block)

    def some(self, steps: Iterable[int]) -> Iterator[AnyEvent]:
        """Yield the events of some steps. Only their lines are decoded, which is worthwhile if they are few in each
        block.
        """
        for block, wanted in groupby(steps, lambda seq: bisect_right(self._blocks.firsts, seq) - 1):
            yield from self._some_of(block, list(wanted))

    def _some_of(self, block: int, steps: list[int]) -> Sequence[AnyEvent]:
        found = None if block in self._decoded.known else self._decode_some(block, steps)
        return found or [self._decoded.get(block, self._decode)[seq - self._blocks.firsts[block]] for seq in steps]

    def _decode_some(self, block: int, steps: list[int]) -> list[AnyEvent] | None:
        """Return some events of a block; None if the whole block must be decoded."""
        first, end = self._blocks.firsts[block], self._end(block)
        raw, sound = self._read(block)
        lines = raw.split(b"\n") if sound else []
        return decode_some([lines[seq - first] for seq in steps], steps) if len(lines) == end - first + 1 else None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of lines and the lines of each block, as they are in the file, except for damaged ones."""
        for block in range(len(self._blocks.firsts)):
            count = self._end(block) - self._blocks.firsts[block]
            raw, sound = self._read(block)
            yield count, raw if sound and _are_lines(raw, count) else encode_lines(self._decode(block))

    def is_whole(self) -> bool:
        """Return whether all lines are as they were written, so that they can be copied. It reads the whole file."""
        for block in range(len(self._blocks.firsts)):
            raw, sound = self._read(block)
            if not sound or not _are_lines(raw, self._end(block) - self._blocks.firsts[block]):
                return False
        return True

    def damaged(self) -> int | None:
        """Return the first step that cannot be read; None if all can. It reads the whole file."""
        return next((self._blocks.firsts[at] for at in range(len(self._blocks.firsts)) if not self._read(at)[1]), None)

    def _decode(self, block: int) -> list[AnyEvent]:
        first, end = self._blocks.firsts[block], self._end(block)
        raw, sound = self._read(block)
        try:
            events = decode_lines(raw, first) if sound else []
        except LineError as error:
            events = error.good
        return [*events[: end - first], *map(self._damaged, range(first + len(events), end))]

    def _read(self, block: int) -> tuple[bytes, bool]:
        """Return the lines of a block, and whether they are as they were written."""
        blocks = self._blocks
        start, size = blocks.starts[block], blocks.sizes[block]
        pack = Pack(blocks.offsets[block], blocks.lengths[block], blocks.checksums[block])
        if not size:
            return self._stored(pack)
        lines = self._unpacked.get(pack, self._unpack)[start : start + size]
        return lines, len(lines) == size

    def _stored(self, pack: Pack) -> tuple[bytes, bool]:
        """Return the bytes at a place of the file, and whether they are as they were written."""
        raw = self._source.read_at(pack.offset, pack.length)
        return raw, zlib.crc32(raw) == pack.checksum

    def _unpack(self, pack: Pack) -> bytes:
        raw, sound = self._stored(pack)
        try:
            return unpacked(raw, LONGEST) if sound else b""
        except ValueError:
            return b""

    def _end(self, block: int) -> int:
        firsts = self._blocks.firsts
        return firsts[block + 1] if block + 1 < len(firsts) else len(self)

    def _damaged(self, seq: int) -> Unknown:
        parent, names = self.columns.parents[seq], self.columns.kind_names
        kind = self.columns.kinds[seq]
        return Unknown(seq, parent if NONE < parent < seq else None, names[kind] if kind < len(names) else "?", DAMAGED)


def some_events(events: Sequence[AnyEvent], steps: Iterable[int]) -> Iterator[AnyEvent]:
    """The events of some steps of a trace in memory or in a file."""
    some: Callable[[Iterable[int]], Iterator[AnyEvent]] | None = getattr(events, "some", None)
    return some(steps) if some else map(events.__getitem__, steps)


def _are_lines(raw: bytes, count: int) -> bool:
    """Return whether some bytes look like ``count`` lines that we wrote. Only the beginnings and ends of lines are
    checked.
    """
    try:
        text = raw if raw.isascii() else raw.decode().encode()
    except UnicodeDecodeError:
        return False
    return (
        text.startswith(b'["')
        and text.endswith(b"]\n")
        and text.count(b"\n") == count
        and text.count(b'\n["') == count - 1
    )
