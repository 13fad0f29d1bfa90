"""The writers of trace files. Events are added as they come, the file can be read at any time, and ``complete`` adds
the facts known at the end.
"""

from __future__ import annotations

import gzip
import io
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.file_replacement import replacing
from dispatchviz.core.record.trace_file.blocks import BEGIN, EVENTS, FRAME_SIZE, HEADER, SOURCES, block
from dispatchviz.core.record.trace_file.column_builder import ColumnBuilder
from dispatchviz.core.record.trace_file.columns import Columns
from dispatchviz.core.record.trace_file.event_lines import encode, encode_lines
from dispatchviz.core.record.trace_file.header import Header
from dispatchviz.core.record.trace_file.index import Grown, index_blocks, part_block
from dispatchviz.core.record.trace_file.packing import Packer
from dispatchviz.core.record.trace_file.stored_events import (
    BLOCKS_PER_PACK,
    EVENTS_PER_BLOCK,
    Blocks,
    Pack,
    StoredEvents,
)

INDEXED, LINES, COMPRESSED = ".dvtrace", ".jsonl", ".jsonl.gz"
SUFFIXES = (INDEXED, LINES, COMPRESSED)
"""The suffixes of trace files."""


class Recorded(Protocol):
    """A trace, as far as it is needed for writing."""

    @property
    def header(self) -> Header: ...
    @property
    def events(self) -> Sequence[AnyEvent]: ...
    @property
    def columns(self) -> Columns: ...


def suffix_of(path: str | Path) -> str:
    """The suffix of a trace's name; ``.jsonl`` for any other name."""
    name = str(path).lower()
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), LINES)


def save(trace: Recorded, path: str | Path) -> None:
    """Write a trace file of the kind that its name gives. OSError leaves an existing file unchanged."""
    with replacing(path) as stream:
        _write(trace, suffix_of(path), stream)


def encoded(trace: Recorded, suffix: str) -> bytes:
    """The bytes of a trace file."""
    stream = io.BytesIO()
    _write(trace, suffix, stream)
    return stream.getvalue()


def _write(trace: Recorded, suffix: str, stream: BinaryIO) -> None:
    writer = WRITERS[suffix](stream, trace.header)
    events = trace.events
    if isinstance(events, StoredEvents) and events.is_whole():
        writer.copy(events, trace.columns)
        writer.complete(trace.header)
        return
    if isinstance(writer, IndexedWriter) and not isinstance(events, StoredEvents) and _has_columns(trace):
        columns = trace.columns
        if len(columns.kinds) == len(events):  # a recording may have grown in between
            writer.use(columns)
    for begin in range(0, len(events), _AT_ONCE):
        writer.add(events[begin : begin + _AT_ONCE])
    writer.complete(trace.header)


def _has_columns(trace: Recorded) -> bool:
    """Return whether a trace has its columns already, or gets them as cheaply as a file does. The columns of a long
    trace are made faster part by part.
    """
    return "columns" in vars(trace) or len(trace.events) <= EVENTS_PER_PART


_AT_ONCE = 16 * EVENTS_PER_BLOCK


class TraceWriter(ABC):
    """The base class of writers. ``stream`` is unbuffered, or its owner flushes it; any method may raise OSError."""

    def __init__(self, stream: BinaryIO, header: Header) -> None:
        self._stream = stream
        self.events = 0
        """The number of events added."""
        self.size = 0
        """The number of bytes written."""

    @abstractmethod
    def add(self, events: Sequence[AnyEvent]) -> None:
        """Write the next events."""

    @abstractmethod
    def copy(self, events: StoredEvents, columns: Columns) -> None:
        """Copy all events of a sound file, which are all events of this one, without decoding their lines."""

    def renew(self, header: Header) -> None:  # noqa: B027
        """Write the header again, of which more is known now, if the format has a place for it."""

    def add_sources(self, sources: Mapping[str, str]) -> None:  # noqa: B027
        """Write texts of the program's files that are new since the last time, if the format has a place for them."""

    @abstractmethod
    def complete(self, header: Header) -> None:
        """Write the facts known at the end."""

    def _write(self, data: bytes) -> None:
        """Write all bytes. If the disk is full, remove the written part and raise OSError."""
        try:
            done = self._stream.write(data)
            while done is not None and done < len(data):  # as an unbuffered file may
                done += self._stream.write(data[done:])
        except OSError:
            self._take_back()
            raise
        self.size += len(data)

    def _take_back(self) -> None:
        try:
            self._stream.seek(self.size)
            self._stream.truncate()
        except OSError:  # a pipe; what follows the last whole block is ignored by readers
            return


EVENTS_PER_PART = 7 << 13
"""The number of events after which a file gets a part of its index, which takes some hundredths of a second. The places
of that many events fit into 16 bits, which are sorted faster, and so do those of the containers before them.
"""


class IndexedWriter(TraceWriter):
    """The writer of a ``.dvtrace`` file."""

    def __init__(self, stream: BinaryIO, header: Header) -> None:
        super().__init__(stream, header)
        self._columns, self._blocks, self._packer = ColumnBuilder(), Blocks(), Packer()
        self._known: Columns | None = None
        """The columns of all events, if the trace has them."""
        self._parts: list[int] = []
        """The places of the parts of the index that are written."""
        self._write(BEGIN + block(HEADER, encode(header)))

    def use(self, columns: Columns) -> None:
        """Use the columns of a trace that does not grow, of which all events will be added, instead of making them."""
        self._known = columns

    def add(self, events: Sequence[AnyEvent]) -> None:
        """Write blocks of events."""
        pieces = (events[begin : begin + EVENTS_PER_BLOCK] for begin in range(0, len(events), EVENTS_PER_BLOCK))
        before = self.events
        try:
            self._add_blocks([(len(some), encode_lines(some)) for some in pieces])
        finally:
            if self._known is None:
                self._columns.extend(events[: self.events - before])
        if len(self._columns) - self._columns.first >= EVENTS_PER_PART:
            self._add_part()

    def _add_part(self) -> None:
        """Write the index of the events since the last part, so that it leaves memory."""
        columns, changes, nesting = self._columns.cut()
        at = self.size
        self._write(part_block(columns, self._blocks, changes, self._packer))
        self._parts.append(at)
        self._columns.forget(nesting)
        self._blocks = Blocks()

    def copy(self, events: StoredEvents, columns: Columns) -> None:
        """Copy the blocks."""
        blocks = events.lines()
        while some := tuple(islice(blocks, _AT_ONCE // EVENTS_PER_BLOCK)):
            self._add_blocks(some)
        self._known = columns

    def _add_blocks(self, blocks: Sequence[tuple[int, bytes]]) -> None:
        """Write blocks, each given as the number of lines and the lines: at once or, if there is no space for all, one
        by one.
        """
        try:
            self._add_at_once(blocks)
        except OSError:
            for one in blocks:
                self._add_at_once([one])

    def _add_at_once(self, blocks: Sequence[tuple[int, bytes]]) -> None:
        at, parts, places, events = self.size, list[bytes](), [], self.events
        for some in _packs(blocks):
            raw = self._packer.packed(b"".join(lines for _, lines in some))
            pack, start = Pack(at + FRAME_SIZE, len(raw), zlib.crc32(raw)), 0
            parts.append(block(EVENTS, raw, sum(count for count, _ in some), pack.checksum))
            at += len(parts[-1])
            for count, lines in some:
                places.append((events, pack, start, len(lines)))
                events, start = events + count, start + len(lines)
        self._write(b"".join(parts))
        for place in places:
            self._blocks.add(*place)
        self.events = events

    def renew(self, header: Header) -> None:
        """Write another block with a header."""
        self._write(block(HEADER, encode(header)))

    def add_sources(self, sources: Mapping[str, str]) -> None:
        """Write a block of texts."""
        self._write(block(SOURCES, encode(sources)))

    def complete(self, header: Header) -> None:
        """Write the index, or the rest of it."""
        grown = None
        if self._known is None:
            first = self._columns.first
            columns, changes, nesting = self._columns.cut()
            grown = Grown(self._parts, first, changes, nesting.whole) if self._parts else None
        else:
            columns = self._known
        for part in index_blocks(header, columns, self._blocks, self.size, self._packer, grown):
            self._write(part)


def _packs(blocks: Sequence[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Yield the blocks that are packed as one. Long ones are packed alone."""
    some, size = list[tuple[int, bytes]](), 0
    for each in blocks:
        if some and (len(some) == BLOCKS_PER_PACK or size + len(each[1]) > _LONG):
            yield some
            some, size = [], 0
        some.append(each)
        size += len(each[1])
    if some:
        yield some


_LONG = 1 << 22
"""The number of bytes beyond which blocks are packed alone."""


class LinesWriter(TraceWriter):
    """The writer of a ``.jsonl`` file. The first line is the header as far as it is known; if it was not complete, the
    last line is the complete one.
    """

    def __init__(self, stream: BinaryIO, header: Header) -> None:
        super().__init__(stream, header)
        self._header = encode(header)
        self._write(self._packed(self._header + b"\n"))

    def add(self, events: Sequence[AnyEvent]) -> None:
        """Write lines."""
        self._add_lines(encode_lines(events), len(events))

    def copy(self, events: StoredEvents, columns: Columns) -> None:
        """Copy the lines."""
        blocks = events.lines()
        while some := tuple(islice(blocks, _AT_ONCE // EVENTS_PER_BLOCK)):
            self._add_lines(b"".join(lines for _, lines in some), sum(count for count, _ in some))

    def _add_lines(self, lines: bytes, count: int) -> None:
        """Write lines at once or, if there is no space for all, as many as fit."""
        try:
            self._write(self._packed(lines))
            self.events += count
        except OSError:
            for line in lines.splitlines(keepends=True):
                self._write(self._packed(line))
                self.events += 1

    def complete(self, header: Header) -> None:
        """Write the header again if it differs from the first line."""
        line = encode(header)
        if line != self._header:
            self._write(self._packed(line + b"\n"))

    def _packed(self, lines: bytes) -> bytes:
        return lines


class CompressedWriter(LinesWriter):
    """The writer of a ``.jsonl.gz`` file. Each write is a gzip member, so that the file can be unpacked at any time."""

    def _packed(self, lines: bytes) -> bytes:
        return gzip.compress(lines, 6, mtime=0)


WRITERS: dict[str, type[TraceWriter]] = {INDEXED: IndexedWriter, LINES: LinesWriter, COMPRESSED: CompressedWriter}


def lines_of(events: Sequence[AnyEvent]) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the lines of some events at a time."""
    if isinstance(events, StoredEvents):
        yield from events.lines()
        return
    for begin in range(0, len(events), EVENTS_PER_BLOCK):
        some = events[begin : begin + EVENTS_PER_BLOCK]
        yield len(some), encode_lines(some)
