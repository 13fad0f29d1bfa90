"""A ``.dvtrace`` file of a running program, read as it grows."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from dispatchviz.core.record.trace_file.header import TraceError
from dispatchviz.core.record.trace_file.index import Index, read_index
from dispatchviz.core.record.trace_file.stored_events import FileSource, StoredEvents
from dispatchviz.core.record.trace_file.trace import Trace
from dispatchviz.core.record.trace_file.unindexed_file import BlockReading
from dispatchviz.core.record.unfinished_files import is_being_written

EVENTS_PER_PART = 1 << 14
"""The number of events whose columns are kept together. Each look makes the columns of at most that many earlier
events again.
"""


class FollowedFile:
    """A file that grows. Each look returns a trace, which is a value with everything that the file had at that time."""

    def __init__(self, path: str | Path) -> None:
        """Raise TraceError if the file cannot be read."""
        try:
            self._source = FileSource(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
        except OSError as error:
            raise TraceError(f"cannot read {path}: {error.strerror}") from None
        self._reading, self._path = BlockReading(self._source, path, EVENTS_PER_PART), path
        self.over = False
        """True if the recording, or the process that writes it, has ended."""

    def look(self) -> Trace | None:
        """Return the trace so far; None if there is nothing new. Raise TraceError if the file is not a trace."""
        if self.over:
            return None
        is_written, before = is_being_written(self._path), len(self._reading)
        self._reading.read_on()
        if self._reading.at_index and (index := self._index()) is not None:
            self.over = True
            return Trace(index.header, StoredEvents(self._source, index.blocks, index.columns))
        if not is_written:
            self.over = True
            return Trace(*self._reading.result())
        return self._so_far() if len(self._reading) > before else None

    def _so_far(self) -> Trace:
        header, events, _ = self._reading.result()
        return Trace(header, events)

    def _index(self) -> Index | None:
        """Return the index of a complete file; None while the file is being written."""
        try:
            return read_index(memoryview(mmap.mmap(self._source.descriptor, 0, access=mmap.ACCESS_READ)))
        except ValueError:
            return None
