"""A line on the terminal during a long recording: events, seconds, how to stop it.

It is written when the cursor is at the beginning of a line, and erased before the program writes, so the program's own
lines are unchanged. If stderr is not a terminal, there is no line.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dispatchviz.core.record.worker import Worker, without_collections
from dispatchviz.running.process.standard_output import reporting_before_writes

PATIENCE = 2.0
"""The number of seconds after which a run counts as long."""

HINT_PATIENCE = 5.0
"""The number of seconds after which a hint shows how to make a run faster."""

LIMIT_HINT = (
    "a recorded program runs many times slower: --limit 1000000 records its beginning, and the rest runs at full speed"
)

INTERVAL = 0.5
"""The number of seconds between two updates."""

ERASED = "\r\x1b[K"


class Progress:
    """The line of a recording in progress."""

    def __init__(
        self,
        count: Callable[[], int],
        write: Callable[[str], object],
        patience: float = PATIENCE,
        hint: str = "",
        hint_patience: float = HINT_PATIENCE,
    ) -> None:
        """Create the line. ``hint`` is another line, written once after ``hint_patience`` seconds."""
        self._count, self._write, self._patience = count, write, patience
        self._hint, self._hint_patience = hint, hint_patience
        self._begun = time.monotonic()
        self._over = False
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._counted = -1
        self._shown = False
        self._at_line_start = True

    def update(self) -> None:
        """Show the progress of a long recording, unless the program has written an unfinished line or waits, as in
        ``input``.

        It never blocks: a signal's handler that forks while the program writes waits for this to end.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._show()
            finally:
                self._lock.release()

    def _show(self) -> None:
        counted, before = self._count(), self._counted
        self._counted = counted
        seconds = time.monotonic() - self._begun
        if seconds >= self._patience and self._at_line_start and counted != before and not self._over:
            if self._hint and seconds >= self._hint_patience:
                self._write(f"{ERASED}dispatchviz: {self._hint}\n")
                self._hint = ""
            self._write(f"{ERASED}dispatchviz: {counted:,} events, {seconds:.0f} s (Ctrl+C stops the program)\r")
            self._shown = True

    def before_writing(self, text: str) -> None:
        """Erase the line, because the program is about to write a text to the terminal."""
        if os.getpid() != self._process:  # a forked child has no line, and its parent's lock may be taken for good
            return
        with self._lock:
            self.erase()
            if text:
                self._at_line_start = text.endswith("\n")

    def erase(self) -> None:
        """Erase the line and leave the terminal as the program has it."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._shown:
                self._shown = False
                self._write(ERASED)

    def end(self) -> None:
        """Erase the line for good."""
        self._over = True
        self.erase()


@contextmanager
def progress_of(count: Callable[[], int], hint: str = "") -> Iterator[None]:
    """Show the progress of a long recording inside the block, if stderr is a terminal."""
    if sys.stderr is None or not _is_terminal(2):
        yield
        return
    progress = Progress(count, _to_terminal, hint=hint)
    worker = Worker(lambda: without_collections(progress.update), INTERVAL)
    with (
        reporting_before_writes(sys.stdout, progress.before_writing),
        reporting_before_writes(sys.stderr, progress.before_writing),
    ):
        try:
            yield
        finally:
            worker.end()
            progress.end()


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Show a line on a terminal at stderr while the block runs. Other output there erases it first."""
    if sys.stderr is None or not _is_terminal(2):
        yield
        return
    _to_terminal(f"{ERASED}dispatchviz: {what}\r")
    try:
        yield
    finally:
        _to_terminal(ERASED)


def _to_terminal(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, text.encode())


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False
