"""Following a recording that goes on: its file is looked at in a thread, so that no key waits for that."""

from __future__ import annotations

from collections import deque
from threading import Thread
from time import monotonic, sleep

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile

INTERVAL = 0.2
"""Seconds between two looks, at least."""

IDLE = 9
"""So many times as long as a look took, nobody looks again: what a look takes grows with the trace."""


class Following:
    """What is new in a file that grows."""

    def __init__(self, file: FollowedFile) -> None:
        self._file = file
        self._newest = deque[Trace](maxlen=1)
        """One operation puts a trace in, one takes it out, so that none is lost between two threads."""
        self._stopped = False

    def start(self) -> None:
        """Look from now on until the recording has ended; does not keep the process alive."""
        Thread(target=self._look, daemon=True).start()

    def stop(self) -> None:
        """Nobody looks any more: the reader has quit."""
        self._stopped = True

    def take(self) -> Trace | None:
        """The newest trace that was not taken."""
        return self._newest.pop() if self._newest else None

    def _look(self) -> None:
        while not (self._file.over or self._stopped):
            begun = monotonic()
            if (newest := self._file.look()) is not None:
                self._newest.append(newest)
            sleep(max(INTERVAL, IDLE * (monotonic() - begun)))
