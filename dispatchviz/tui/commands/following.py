"""Following a recording in progress. A thread reads its file, so that keys do not wait."""

from __future__ import annotations

from collections import deque
from threading import Thread
from time import monotonic, sleep

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile

INTERVAL = 0.2
"""The minimum number of seconds between two reads."""

IDLE = 9
"""The pause between reads as a multiple of the last read's duration, which grows with the trace."""


class Following:
    """A thread that reads new events from a growing file."""

    def __init__(self, file: FollowedFile) -> None:
        self._file = file
        self._newest = deque[Trace](maxlen=1)
        """The newest trace. Each thread uses a single operation on it, so that no trace is lost."""
        self._stopped = False

    def start(self) -> None:
        """Start reading until the recording has ended. The thread does not keep the process alive."""
        Thread(target=self._look, daemon=True).start()

    def stop(self) -> None:
        """Stop reading, because the reader has quit."""
        self._stopped = True

    def take(self) -> Trace | None:
        """Return the newest trace that was not taken yet, or None."""
        return self._newest.pop() if self._newest else None

    def _look(self) -> None:
        while not (self._file.over or self._stopped):
            begun = monotonic()
            if (newest := self._file.look()) is not None:
                self._newest.append(newest)
            sleep(max(INTERVAL, IDLE * (monotonic() - begun)))
