"""Where traces go while their program runs, and where those are kept that nobody asked to save.

Every recording is written to a file as it goes, so that whatever ends the process leaves a trace that opens. A program
that ends well leaves none behind unless ``--save`` asks for it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dispatchviz.core.record.recording_limit import NO_LIMIT, Limit
from dispatchviz.core.record.trace_stream import TraceStream
from dispatchviz.core.record.unfinished_files import is_being_written, unfinished_files
from dispatchviz.errors import DispatchvizError
from dispatchviz.process.early_end import Keeper
from dispatchviz.recording import Recording
from dispatchviz.terminal_output import complain_at_once

DAY = 24 * 3600
"""Seconds; parts of recordings whose process is gone stay that long in the cache folder."""


class StreamKeeper(Keeper):
    """Keeps the trace of a program in a file, from its first event on."""

    busy = False  # what makes and writes events is a thread of its own, which nothing interrupts

    def __init__(self, trace: Recording, stream: TraceStream) -> None:
        self.remarks = stream.remarks
        self._trace, self._stream, self._program = trace, stream, trace.program

    def finish(self, reason: str = "") -> None:
        """The trace is complete and in its place; says where."""
        if not self._stream.in_place:
            if self._stream.complete:
                self._stream.keep()
            else:
                self._trace.finish_stream(keep=True)
            complain_at_once(f"{self._program}: {reason} {kept_in(self._stream.path)}")

    def give_up(self) -> None:
        """The file is the parent's."""
        self._stream.give_up()

    @property
    def stopped(self) -> str:
        """Where and why the recording ended before the program did; empty if it did not."""
        return self._stream.end

    def keep(self) -> str:
        """Puts the trace of a program that has ended into its place; gives the file that it is in."""
        self._stream.keep()
        return self._stream.path

    def discard(self) -> None:
        """Nobody asked for the trace of a program that has ended."""
        self._stream.discard()


def streamed(trace: Recording, save: str | None, limit: Limit = NO_LIMIT) -> StreamKeeper | None:
    """Writes a recording to a file from now on; None if there is no folder for what was not asked for.

    Raises DispatchvizError if the file that was asked for cannot be written.
    """
    for path in (save,) if save else places(trace.program):
        try:
            stream = trace.stream_to(path, limit)
        except OSError as error:
            if save:
                raise DispatchvizError(f"cannot write {save}: {error.strerror or error}") from None
            continue
        return StreamKeeper(trace, stream)
    return None


def kept_in(file: str) -> str:
    """The words for where a trace is."""
    return f"(the trace is kept: dispatchviz open {file})"


def places(program: str) -> Iterator[Path]:
    """Where the trace of a program may be kept, over the last one of that program."""
    for folder in (_cache_folder(), Path(tempfile.gettempdir())):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            _remove_parts(folder)
            yield folder / (Path(program).stem.strip("<>") + ".dvtrace")


def _remove_parts(folder: Path) -> None:
    """Removes what recordings left that were killed more than a day ago."""
    for part in unfinished_files(folder, suffix=".dvtrace"):
        if time.time() - part.stat().st_mtime > DAY and not is_being_written(part):
            part.unlink(missing_ok=True)


def _cache_folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".cache") / "dispatchviz"
