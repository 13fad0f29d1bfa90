"""Files for traces while their program runs, and traces that are kept without ``--save``.

Every recording is written to a file as it goes, so that a readable trace remains even if the process is killed. A
program that ends well leaves none behind unless ``--save`` asks for it.
"""

from __future__ import annotations

from dispatchviz.cli.trace_folders import places
from dispatchviz.core.record.recording_limit import NO_LIMIT, Limit
from dispatchviz.core.record.trace_stream import TraceStream
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import complain_at_once
from dispatchviz.running.process.early_end import Keeper
from dispatchviz.running.recording import Recording


class StreamKeeper(Keeper):
    """A keeper that writes the trace of a program to a file, from its first event on."""

    busy = False  # events are made and written in a thread of their own, which nothing interrupts

    def __init__(self, trace: Recording, stream: TraceStream) -> None:
        self._trace, self._stream, self._program = trace, stream, trace.program
        stream.when_stopped = self._say_that_it_stopped

    def finish(self, reason: str = "") -> None:
        """Complete the trace, move it into its place and print where it is."""
        if not self._stream.in_place:
            if not self._stream.complete:
                self._trace.finish_stream(keep=False)
            complain_at_once(f"{self._program}: {reason} {kept_in(self.keep())}")

    def _say_that_it_stopped(self) -> None:
        complain_at_once(f"{self._program}: {self.stopped}; the program runs on")

    def give_up(self) -> None:
        """Leave the file to the parent process."""
        self._stream.give_up()

    @property
    def stopped(self) -> str:
        """The place and the reason if the recording ended before the program did; otherwise empty."""
        return self._stream.end

    def keep(self) -> str:
        """Move the trace of a program that has ended into its place; return its file."""
        self._stream.keep()
        return self._stream.path

    def discard(self) -> None:
        """Delete the trace of a program that ended without ``--save``."""
        self._stream.discard()


def streamed(
    trace: Recording, save: str | None, limit: Limit = NO_LIMIT, unbuffered: bool = False
) -> StreamKeeper | None:
    """Start writing a recording to a file; return None if there is no ``save`` and no folder can be written to.

    Raise DispatchvizError if ``save`` cannot be written.
    """
    for path in (save,) if save else places(trace.program):
        try:
            stream = trace.stream_to(path, limit, unbuffered)
        except OSError as error:
            if save:
                raise DispatchvizError(f"cannot write {save}: {error.strerror or error}") from None
            continue
        return StreamKeeper(trace, stream)
    return None


def kept_in(file: str) -> str:
    """Return the words that say where a trace is."""
    return f"(the trace is kept: dispatchviz open {file})"
