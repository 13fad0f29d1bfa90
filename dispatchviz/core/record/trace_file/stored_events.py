"""The events of a trace file, decoded when they are looked at: a sequence that keeps no more than a few blocks."""

from __future__ import annotations

import os
import threading
import weakref
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol, overload

from dispatchviz.core.record.events import AnyEvent, Unknown
from dispatchviz.core.record.trace_file.columns import NONE, Columns
from dispatchviz.core.record.trace_file.event_lines import LineError, decode_lines, decode_some, encode_lines

EVENTS_PER_BLOCK = 256
"""A block is decoded as a whole, in less than a fifth of a millisecond."""

KEPT = 64
"""So many blocks that were decoded last are kept."""

DAMAGED = '["this part of the file is damaged"]'
"""The fields of an event that cannot be read."""


class Source(Protocol):
    """Gives the bytes of events, piece by piece. A file is not mapped: one that shrinks would end the process."""

    def read_at(self, at: int, length: int) -> bytes:
        """Bytes, fewer if there are no more."""
        ...


class FileSource:
    """An open file, which is closed when nothing reads it any more."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._reading = threading.Lock()
        weakref.finalize(self, os.close, descriptor)

    def read_at(self, at: int, length: int) -> bytes:
        """Bytes of the file; empty where it cannot be read."""
        try:
            with self._reading:
                os.lseek(self.descriptor, at, os.SEEK_SET)
                return os.read(self.descriptor, length)
        except (OSError, OverflowError):  # a damaged file tells of places that no file has
            return b""


class BytesSource:
    """Bytes in memory."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def read_at(self, at: int, length: int) -> bytes:
        """Bytes, fewer if there are no more."""
        return self._raw[at : at + length]


@dataclass(frozen=True)
class Blocks:
    """Where the blocks of events are."""

    firsts: Sequence[int] = field(default_factory=lambda: array("i"))
    """The ``seq`` of the first event of each."""
    offsets: Sequence[int] = field(default_factory=lambda: array("q"))
    """Where its lines begin in the file."""
    lengths: Sequence[int] = field(default_factory=lambda: array("i"))
    """How many bytes they are."""
    checksums: Sequence[int] = field(default_factory=lambda: array("I"))
    """Their CRC-32."""

    def add(self, first: int, offset: int, length: int, checksum: int) -> None:
        """Add the block that comes next."""
        for column, value in zip(self.columns(), (first, offset, length, checksum), strict=True):
            assert isinstance(column, array)
            column.append(value)

    def copy(self) -> Blocks:
        """Those that there are now."""
        return Blocks(*(column[:] for column in self.columns()))

    def columns(self) -> tuple[Sequence[int], ...]:
        """All four."""
        return self.firsts, self.offsets, self.lengths, self.checksums


class StoredEvents(Sequence[AnyEvent]):
    """All events of a file. One that is damaged is an ``Unknown`` of the kind that the file's index tells."""

    def __init__(self, source: Source, blocks: Blocks, columns: Columns) -> None:
        self._source, self._blocks, self.columns = source, blocks, columns
        self._decoded: dict[int, list[AnyEvent]] = {}
        """Blocks that were looked at lately, the last one last."""

    def __len__(self) -> int:
        return len(self.columns.kinds)

    def __reduce__(self) -> tuple[type[tuple[AnyEvent, ...]], tuple[list[AnyEvent]]]:
        """Pickled they are a tuple: another process has no such file."""
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
        return self._block(block)[seq - self._blocks.firsts[block]]

    def __iter__(self) -> Iterator[AnyEvent]:
        for block in range(len(self._blocks.firsts)):
            yield from self._decoded.get(block) or self._decode(block)

    def some(self, steps: Iterable[int]) -> Iterator[AnyEvent]:
        """The events of some steps. Of each block only their lines are decoded, so it pays where these are few."""
        for block, wanted in groupby(steps, lambda seq: bisect_right(self._blocks.firsts, seq) - 1):
            yield from self._some_of(block, list(wanted))

    def _some_of(self, block: int, steps: list[int]) -> Sequence[AnyEvent]:
        found = None if block in self._decoded else self._decode_some(block, steps)
        return found or [self._block(block)[seq - self._blocks.firsts[block]] for seq in steps]

    def _decode_some(self, block: int, steps: list[int]) -> list[AnyEvent] | None:
        """These events of a block alone; None if all of it has to be looked at."""
        first, end = self._blocks.firsts[block], self._end(block)
        raw, sound = self._read(block)
        lines = raw.split(b"\n") if sound else []
        return decode_some([lines[seq - first] for seq in steps], steps) if len(lines) == end - first + 1 else None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines of the events, a block at a time, after how many they are: as they are in the file, but those of
        what is damaged."""
        for block in range(len(self._blocks.firsts)):
            count = self._end(block) - self._blocks.firsts[block]
            raw, sound = self._read(block)
            yield count, raw if sound and _are_lines(raw, count) else encode_lines(self._decode(block))

    def is_whole(self) -> bool:
        """Return whether all lines are as they were written, so that they can be copied. Reads the whole file."""
        for block in range(len(self._blocks.firsts)):
            raw, sound = self._read(block)
            if not sound or not _are_lines(raw, self._end(block) - self._blocks.firsts[block]):
                return False
        return True

    def damaged(self) -> int | None:
        """The first step that cannot be read; None if all can. Reads the whole file."""
        return next((self._blocks.firsts[at] for at in range(len(self._blocks.firsts)) if not self._read(at)[1]), None)

    def _block(self, block: int) -> list[AnyEvent]:
        events = self._decoded.pop(block, None)
        if events is None:
            events = self._decode(block)
            if len(self._decoded) >= KEPT:
                del self._decoded[next(iter(self._decoded))]
        self._decoded[block] = events
        return events

    def _decode(self, block: int) -> list[AnyEvent]:
        first, end = self._blocks.firsts[block], self._end(block)
        raw, sound = self._read(block)
        try:
            events = decode_lines(raw, first) if sound else []
        except LineError as error:
            events = error.good
        return [*events[: end - first], *map(self._damaged, range(first + len(events), end))]

    def _read(self, block: int) -> tuple[bytes, bool]:
        """The lines of a block, and whether they are what was written."""
        raw = self._source.read_at(self._blocks.offsets[block], self._blocks.lengths[block])
        return raw, zlib.crc32(raw) == self._blocks.checksums[block]

    def _end(self, block: int) -> int:
        firsts = self._blocks.firsts
        return firsts[block + 1] if block + 1 < len(firsts) else len(self)

    def _damaged(self, seq: int) -> Unknown:
        parent, names = self.columns.parents[seq], self.columns.kind_names
        kind = self.columns.kinds[seq]
        return Unknown(seq, parent if NONE < parent < seq else None, names[kind] if kind < len(names) else "?", DAMAGED)


def some_events(events: Sequence[AnyEvent], steps: Iterable[int]) -> Iterator[AnyEvent]:
    """The events of some steps of a trace, be it in memory or in a file."""
    return events.some(steps) if isinstance(events, StoredEvents) else map(events.__getitem__, steps)


def _are_lines(raw: bytes, count: int) -> bool:
    """Return whether some bytes look like so many lines that we wrote. Looks at their beginnings and ends only."""
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
