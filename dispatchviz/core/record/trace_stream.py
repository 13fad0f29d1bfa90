"""A trace file that is written while the program runs.

A thread of its own (``worker.py``) reads the recorder's notes and writes the events, twenty times a second and
whenever many notes wait, so that whatever ends the process finds all but the last moment in the file. It is the only
one that reads notes then: an exception raised anywhere in the program, such as Ctrl+C, never interrupts it.

The file is beside its target until it is complete (``run.part-4242.dvtrace``), and opens as it is. What was at the
target before is replaced by a complete trace only.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dispatchviz.core.record.builders.builder_base import StreamedEvents
from dispatchviz.core.record.file_replacement import Replacement
from dispatchviz.core.record.recording_limit import NO_LIMIT, Limit, end_before
from dispatchviz.core.record.trace_file.writers import WRITERS, suffix_of
from dispatchviz.core.record.unfinished_files import unfinished_name
from dispatchviz.core.record.worker import Worker, without_collections

if TYPE_CHECKING:
    from dispatchviz.core.record.event_filter import EventFilter
    from dispatchviz.core.record.events import AnyEvent
    from dispatchviz.core.record.recorders.recorder_base import RecorderBase
    from dispatchviz.core.record.trace_file.header import Header

INTERVAL = 0.05
"""So many seconds after a note, at most, its events are in the file."""


class TraceStream:
    """Writes what a recorder notes. Its methods may be called in any thread, and in a handler of signals."""

    def __init__(
        self,
        path: str | Path,
        recorder: RecorderBase,
        header: Header,
        limit: Limit = NO_LIMIT,
        chosen: EventFilter | None = None,
    ) -> None:
        """``header`` is what is known of it, ``chosen`` selects events.

        Raises OSError, before anything is changed, if the file cannot be written.
        """
        suffix = suffix_of(path)
        name = os.path.basename(os.path.realpath(path))
        stem = name[: -len(suffix)] if name.lower().endswith(suffix) else name
        self._file = _part(path, stem, suffix)
        self._there_before = os.path.exists(self._file.target)
        try:
            self._writer = WRITERS[suffix](self._file.stream, header)
        except OSError:
            self._file.discard()
            raise
        self._recorder, self._chosen = recorder, chosen
        self.limit = limit.on_disk_of(os.path.dirname(self._file.path))
        self.when_stopped: Callable[[], None] = lambda: None
        """Called in the thread that writes when the default limit is reached."""
        self._events = recorder.builder.events = StreamedEvents()
        self._sources = 0
        """How many texts of files were written."""
        self.stopped = ""
        """Why nothing is recorded any more though the program runs; empty as long as it is."""
        self.failed = False
        """It is stopped since the file could not be written, or by a fault of ours."""
        self.path = self._file.path
        """Where the file is."""
        self.given_up = False
        """This process is a child of the one that writes."""
        self.complete = False
        """There is nothing more to come."""
        self.header: Header | None = None
        """The header of the complete file, whose index is written."""
        self._worker = Worker(self._look, INTERVAL)
        _streams.add(self)

    @property
    def events(self) -> int:
        """How many are written."""
        return self._writer.events

    @property
    def size(self) -> int:
        """How many bytes are written."""
        return self._writer.size

    @property
    def end(self) -> str:
        """Where and why the recording stopped; empty if it did not."""
        return self.stopped and end_before(self.events, self.stopped)

    @property
    def in_place(self) -> bool:
        """The file is complete and at its target, or will never be."""
        return self._worker.over

    def flush(self) -> None:
        """Write what was noted so far, and returns when that is done."""
        self._request(self._drain)

    def finish(self, header: Callable[[], Header], keep: bool = True) -> None:
        """Write what was noted and what the end knows, its header too; the file then takes its target's place.

        Without ``keep`` it stays where it is, to be opened and discarded. The second time it only keeps.
        """
        self._request(lambda: self._finish(header, keep))

    def discard(self) -> None:
        """Remove the file; who has it open can read it on."""
        self._request(self._discard)

    def keep(self) -> None:
        """Put a file that is finished and was not kept into its target's place."""
        self._request(self._commit)

    def give_up(self) -> None:
        """In a forked child, which has no thread that writes: the file is its parent's."""
        self.complete = self.given_up = True
        self._worker.end()
        self._file.stream.close()

    def _request(self, work: Callable[[], None]) -> None:
        if self._worker.over:
            self._recorder.notes.clear()
        else:
            self._worker.do(work)

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        if self._recorder.notes and not self.complete:
            without_collections(self._drain)

    def _drain(self) -> None:
        """Write the events of all notes."""
        recorder, builder = self._recorder, self._recorder.builder
        if self.complete or self.stopped:
            recorder.notes.clear()
            return
        try:
            builder.read(recorder.notes)
        except Exception as error:
            recorder.failed = error
            self._fail(f"a fault of dispatchviz: {error!r}")
        try:
            self._write()
        except OSError as error:
            self._fail(f"cannot write {self.path}: {error.strerror or error}")
        except Exception as error:
            recorder.failed = error
            self._fail(f"a fault of dispatchviz: {error!r}")

    def _fail(self, reason: str) -> None:
        self.failed, self.stopped = True, self.stopped or reason

    def _write(self) -> None:
        builder, writer = self._recorder.builder, self._writer
        sources = builder.sources
        if len(sources) > self._sources:
            writer.add_sources(dict(list(sources.items())[self._sources :]))
            self._sources = len(sources)
        new: Sequence[AnyEvent] = self._events.recent
        if self._chosen is not None:
            new = tuple(self._chosen.keep(new))
        if self.limit.events is not None:
            new = new[: self.limit.events - writer.events]
        if new:
            writer.add(new)
        self._forget()
        self.stopped = self.stopped or self.limit.reached(writer.events, writer.size)
        if self.stopped and not self.limit.chosen:
            self.when_stopped()

    def _forget(self) -> None:
        """Drop events that are written, but for those that later ones refer to."""
        needed = self._recorder.builder.forget_written()
        if self._chosen is not None:
            self._chosen.forget(needed)

    def _finish(self, header: Callable[[], Header], keep: bool) -> None:
        if not self.complete:
            self._drain()
            self.complete = True
            try:
                known = self._with_end(header())
                self._writer.complete(known)
                self.header = known
            except OSError as error:
                self._fail(f"cannot write {self.path}: {error.strerror or error}")
        if keep:
            self._commit()

    def _with_end(self, header: Header) -> Header:
        """The header, which tells where the recording stopped, if it did."""
        return msgspec.structs.replace(header, remarks=(*header.remarks, self.end)) if self.stopped else header

    def _commit(self) -> None:
        if self._worker.over:
            return
        if not self.failed or not self._there_before:  # what was there is a whole trace
            try:
                self._file.commit()
                self.path = self._file.target
            except OSError as error:
                self._fail(f"cannot write {self._file.target}: {error.strerror or error}")
        self._worker.end()

    def _discard(self) -> None:
        if not self._worker.over:
            self._worker.end()
            self._file.discard()


def _part(path: str | Path, stem: str, suffix: str) -> Replacement:
    """A new file beside the target. One of that name may be left of a process that was killed: it stays as it is."""
    for attempt in count(1):
        with suppress(FileExistsError):
            return Replacement(path, unfinished_name(stem, suffix, os.getpid(), attempt))
    raise AssertionError


_streams: weakref.WeakSet[TraceStream] = weakref.WeakSet()


def _give_up_all() -> None:
    for stream in list(_streams):
        if not stream.in_place:
            stream.give_up()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_give_up_all)
