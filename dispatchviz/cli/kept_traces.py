"""Where traces go while their program runs, and those that are kept though nobody asked.

Every recording is written to a file as it goes, so that whatever ends the process leaves a trace that opens. A program
that ends well leaves none behind unless ``--save`` asks for it.
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
    """Keeps the trace of a program in a file, from its first event on."""

    busy = False  # what makes and writes events is a thread of its own, which nothing interrupts

    def __init__(self, trace: Recording, stream: TraceStream) -> None:
        self._trace, self._stream, self._program = trace, stream, trace.program
        stream.when_stopped = self._say_that_it_stopped

    def finish(self, reason: str = "") -> None:
        """The trace is complete and in its place; says where."""
        if not self._stream.in_place:
            if self._stream.complete:
                self._stream.keep()
            else:
                self._trace.finish_stream(keep=True)
            complain_at_once(f"{self._program}: {reason} {kept_in(self._stream.path)}")

    def _say_that_it_stopped(self) -> None:
        complain_at_once(f"{self._program}: {self.stopped}; the program runs on")

    def give_up(self) -> None:
        """The file is the parent's."""
        self._stream.give_up()

    @property
    def stopped(self) -> str:
        """Where and why the recording ended before the program did; empty if it did not."""
        return self._stream.end

    def keep(self) -> str:
        """Put the trace of a program that has ended into its place; give the file that it is in."""
        self._stream.keep()
        return self._stream.path

    def discard(self) -> None:
        """Nobody asked for the trace of a program that has ended."""
        self._stream.discard()


def streamed(
    trace: Recording, save: str | None, limit: Limit = NO_LIMIT, unbuffered: bool = False
) -> StreamKeeper | None:
    """Write a recording to a file from now on; None if there is no folder for what was not asked for.

    Raises DispatchvizError if the file that was asked for cannot be written.
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
    """The words for where a trace is."""
    return f"(the trace is kept: dispatchviz open {file})"
