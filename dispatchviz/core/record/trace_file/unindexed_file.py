"""Trace files without an index: lines and blocks, read one after the other as far as they are sound."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from dispatchviz.core.record.events import AnyEvent, Unknown
from dispatchviz.core.record.trace_file.blocks import (
    BEGIN,
    EVENTS,
    HEADER,
    INDEX,
    PART,
    PLAIN,
    SOURCES,
    Found,
    scan,
)
from dispatchviz.core.record.trace_file.columns import NAMES, Columns
from dispatchviz.core.record.trace_file.event_lines import KINDS, LONGEST, LineError, decode_header, decode_lines
from dispatchviz.core.record.trace_file.header import FORMAT, Header, TraceError
from dispatchviz.core.record.trace_file.index import Part, made_part
from dispatchviz.core.record.trace_file.packing import unpacked
from dispatchviz.core.record.trace_file.stored_events import EVENTS_PER_BLOCK, Blocks, Pack, Source, StoredEvents
from dispatchviz.core.record.unfinished_files import is_being_written

Opened = tuple[Header, StoredEvents, str]
"""Header, events and notice of a trace."""


class Reading:
    """The events of a file without an index, as far as they have been read.

    ``per_part``: the number of events after which their columns are kept as a part, so that a file that is looked at
    again and again costs only what is new.
    """

    def __init__(self, source: Source, per_part: int | None = None) -> None:
        self._source, self._per_part = source, per_part
        self._parts: list[Part] = []
        from dispatchviz.core.record.trace_file.column_builder import ColumnBuilder  # NumPy: not for what has an index

        self._columns, self._blocks = ColumnBuilder(), Blocks()
        self._not_understood: int | None = None

    def add(self, raw: bytes, offset: int) -> bool:
        """Add whole lines of events at an offset of the file. Return False if one is damaged."""
        first = len(self._columns)
        raw, good = self._take(raw)
        if raw:
            self._blocks.add(first, Pack(offset, len(raw), zlib.crc32(raw)))
        return good

    def add_packed(self, raw: bytes, pack: Pack) -> bool:
        """Add whole lines of events that are packed at a place of the file. Return False if one is damaged."""
        lines, start, good = raw.splitlines(keepends=True), 0, True
        for begin in range(0, len(lines), EVENTS_PER_BLOCK):
            first = len(self._columns)
            some, good = self._take(b"".join(lines[begin : begin + EVENTS_PER_BLOCK]))
            if some:
                self._blocks.add(first, pack, start, len(some))
            if not good:
                break
            start += len(some)
        return good

    def _take(self, raw: bytes) -> tuple[bytes, bool]:
        """Take the events of some lines. Return the lines before the first damaged one, and whether there is none."""
        try:
            events, good = decode_lines(raw, len(self._columns)), True
        except LineError as error:
            events, good = error.good, False
            raw = b"".join(raw.splitlines(keepends=True)[: len(events)])
        self._columns.extend(events)
        if self._per_part is not None and len(self._columns) - self._columns.first >= self._per_part:
            columns, changes, nesting = self._columns.cut()
            self._parts.append(made_part(self._columns.first, columns, changes))
            self._columns.forget(nesting)
        self._look_for_unknown(events)
        return raw, good

    def _look_for_unknown(self, events: Sequence[AnyEvent]) -> None:
        if self._not_understood is None:
            odd = (event.seq for event in events if isinstance(event, Unknown) and event.kind in KINDS)
            self._not_understood = next(odd, None)

    def __len__(self) -> int:
        return len(self._columns)

    def result(self, header: Header | None, path: str | Path, whole: bool) -> Opened:
        """Return the trace, with a notice if it ended before the file did. Raise TraceError if there was no header."""
        if header is None:
            raise TraceError(f"{path} is not a dispatchviz trace: its first line is not a trace header")
        events = StoredEvents(self._source, self._blocks.copy(), self._all_columns())
        return header, events, self._notice(path, whole)

    def _all_columns(self) -> Columns:
        if not self._parts:
            return self._columns.columns()
        from dispatchviz.core.record.trace_file.joined_columns import joined_columns  # NumPy, as above

        last, changes, nesting = self._columns.cut()
        names = {name: getattr(last, name) for name in NAMES}
        return joined_columns([*self._parts, made_part(self._columns.first, last, changes)], nesting.whole, names)

    def _opens(self) -> str:
        steps = len(self._columns)
        return f"it opens up to step {steps - 1}" if steps else "none of its steps can be read"

    def _notice(self, path: str | Path, whole: bool) -> str:
        if not whole:
            why = "still being recorded" if is_being_written(path) else "cut off"
            return f"{path} is {why}: {self._opens()}"
        if self._not_understood is not None:
            odd = self._not_understood
            return f"{path} has a value at step {odd} that this version does not know: it is shown unchanged"
        return ""


class BlockReading:
    """A ``.dvtrace`` file that was not completed, or whose index is damaged. It may grow while it is read."""

    def __init__(self, source: Source, path: str | Path, per_part: int | None = None) -> None:
        self._source, self._path = source, path
        self._reading, self._sources = Reading(source, per_part), dict[str, str]()
        self._header: Header | None = None
        self._at = len(BEGIN)
        """The offset of the first block that has not been read."""
        self._damaged = False
        self.at_index = False
        """True if there are no more events."""

    def __len__(self) -> int:
        return len(self._reading)

    def read_on(self) -> None:
        """Read the new whole blocks, up to the first damaged one. Raise TraceError if the header is not that of a
        trace.
        """
        for found in () if self._damaged else scan(self._source, self._at):
            self.at_index = found.kind == INDEX
            if self.at_index:
                return
            if found.kind == PART:  # it repeats facts that the events have
                self._at = found.end
                continue
            raw = self._source.read_at(found.offset, found.length) if found.length <= LONGEST else b""
            if len(raw) < found.length:  # it may be on its way
                return
            self._damaged = zlib.crc32(raw) != found.checksum or not self._take(found, raw)
            if self._damaged:
                return
            self._at = found.end

    def result(self) -> Opened:
        """Return the trace so far, as one that is cut off. Raise TraceError if there was no header."""
        header = self._header
        if header is not None and self._sources:
            header = msgspec.structs.replace(header, sources={**header.sources, **self._sources})
        return self._reading.result(header, self._path, False)

    def _take(self, found: Found, raw: bytes) -> bool:
        """Add a block. Return False if events in it are damaged."""
        if found.kind == HEADER:
            self._header = header_in(raw, self._path)
        elif found.kind == SOURCES:
            self._sources.update(_texts(raw))
        elif found.kind == PLAIN:
            return self._reading.add(raw, found.offset)
        elif found.kind == EVENTS:
            return self._take_pack(found, raw)
        return True

    def _take_pack(self, found: Found, raw: bytes) -> bool:
        try:
            lines = unpacked(raw, LONGEST)
        except ValueError:
            return False
        return self._reading.add_packed(lines, Pack(found.offset, found.length, found.checksum))


def _texts(raw: bytes) -> dict[str, str]:
    try:
        texts: dict[str, str] = decode_header(raw, dict[str, str])
    except ValueError:
        return {}
    return texts


def header_in(line: bytes, path: str | Path) -> Header:
    """Return the header in a line. Raise TraceError if it is not one, or belongs to a later version."""
    try:
        header: Header = decode_header(line, Header)
    except ValueError:
        raise TraceError(f"{path} is not a dispatchviz trace: its first line is not a trace header") from None
    check_format(header.format, path)
    return header


def check_format(number: int, path: str | Path, most: int = FORMAT) -> None:
    """Raise TraceError for a format of a later version."""
    if number > most:
        raise TraceError(f"{path} has trace format {number}, this version reads up to {most}: update dispatchviz")
