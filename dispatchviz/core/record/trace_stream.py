"""A trace file that is written while the program runs.

A thread of its own (``worker.py``) reads the recorder's notes and writes the events, twenty times a second and whenever
many notes wait. So the file has all but the last moment, however the process ends. Only this thread reads notes then:
an exception raised anywhere in the program, such as Ctrl+C, never interrupts it.

Until it is complete, the file is beside its target (``run.part-4242.dvtrace``), and it can be opened. Only a complete
trace replaces the previous file at the target.
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
"""The maximum number of seconds between a note and its events in the file."""


class TraceStream:
    """The writer of a recorder's notes. Its methods may be called in any thread, and in a signal handler."""

    def __init__(
        self,
        path: str | Path,
        recorder: RecorderBase,
        header: Header,
        limit: Limit = NO_LIMIT,
        chosen: EventFilter | None = None,
    ) -> None:
        """Open the file. ``header`` has what is known so far, ``chosen`` selects events.

        Raise OSError, before anything is changed, if the file cannot be written.
        """
        stem, suffix = _split(path)
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
        """A function that is called in the writing thread when the default limit is reached."""
        self._events = recorder.builder.events = StreamedEvents()
        self._sources = 0
        """The number of texts of files that were written."""
        self.stopped = ""
        """The reason why recording has stopped though the program runs; empty until then."""
        self.failed = False
        """True if it has stopped because the file could not be written, or because of an internal error."""
        self.path = self._file.path
        """The current path of the file."""
        self.given_up = False
        """True if this process is a child of the one that writes."""
        self.complete = False
        """True if no more events will come."""
        self.header: Header | None = None
        """The header of the complete file, once its index is written."""
        self._worker = Worker(self._look, INTERVAL)
        _streams.add(self)

    @property
    def events(self) -> int:
        """The number of events written."""
        return self._writer.events

    @property
    def size(self) -> int:
        """The number of bytes written."""
        return self._writer.size

    @property
    def end(self) -> str:
        """A sentence with the step and the reason if the recording has stopped; else empty."""
        return self.stopped and end_before(self.events, self.stopped)

    @property
    def in_place(self) -> bool:
        """True if the file is complete and at its target, or will never be."""
        return self._worker.over

    def renew(self, header: Header) -> None:
        """Write the header again, of which more is known now."""
        self._request(lambda: self._renew(header))

    def flush(self) -> None:
        """Write the events of all notes so far. Return when that is done."""
        self._request(self._drain)

    def finish(self, header: Callable[[], Header], keep: bool = True) -> None:
        """Write the remaining events and the facts known at the end, with the header. Then the file replaces its
        target.

        Without ``keep`` it stays at its path, to be opened and discarded. A second call only keeps it.
        """
        self._request(lambda: self._finish(header, keep))

    def discard(self) -> None:
        """Remove the file. Readers that have it open can continue."""
        self._request(self._discard)

    def keep(self) -> None:
        """Move a file that is finished and was not kept to its target."""
        self._request(self._commit)

    def rename(self, path: str | Path) -> None:
        """Change the target, which must be in the same folder. Nothing changes if that fails."""
        self._request(lambda: self._rename(path))

    def give_up(self) -> None:
        """Leave the file to the parent process, in a forked child, which has no writing thread."""
        self.complete = self.given_up = True
        self._worker.end()
        self._file.stream.close()

    def _request(self, work: Callable[[], None]) -> None:
        if self._worker.over:
            self._recorder.notes.clear()
        else:
            self._worker.do(work)

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _renew(self, header: Header) -> None:
        if self.complete or self.stopped:
            return
        try:
            self._writer.renew(header)
        except OSError as error:
            self._fail(f"cannot write {self.path}: {error.strerror or error}")

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
            self._fail(f"a bug in dispatchviz: {error!r}")
        try:
            self._write()
        except OSError as error:
            self._fail(f"cannot write {self.path}: {error.strerror or error}")
        except Exception as error:
            recorder.failed = error
            self._fail(f"a bug in dispatchviz: {error!r}")

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
        """Drop events that are written, except those to which later ones refer."""
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
        """Return the header, with a remark if the recording stopped early."""
        return msgspec.structs.replace(header, remarks=(*header.remarks, self.end)) if self.stopped else header

    def _rename(self, path: str | Path) -> None:
        if not self._worker.over:
            stem, ending = _split(path)
            with suppress(OSError):  # the file keeps its name
                self._file.move(path, unfinished_name(stem, ending, os.getpid()))
                self.path = self._file.path
                self._there_before = os.path.exists(self._file.target)

    def _commit(self) -> None:
        if self._worker.over:
            return
        if not self.failed or not self._there_before:  # a complete trace is at the target
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


def _split(path: str | Path) -> tuple[str, str]:
    """Return the name of a file without the suffix of its format, and the suffix."""
    suffix, name = suffix_of(path), os.path.basename(os.path.realpath(path))
    return (name[: -len(suffix)] if name.lower().endswith(suffix) else name), suffix


def _part(path: str | Path, stem: str, suffix: str) -> Replacement:
    """Return a new file beside the target. A file of that name from a killed process is left unchanged."""
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
