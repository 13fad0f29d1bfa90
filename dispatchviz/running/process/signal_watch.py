"""Signals that arrive while the program's main thread waits in C++. One of our threads handles them.

Python runs a handler in the main thread, between two instructions. So the handler of a thread that waits for another
rank would never run. Python's own C handler also writes the number of each signal into a file
(``signal.set_wakeup_fd``). That file is ours as long as the program has none, and the program gets the answer that
there is none.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.record.worker import Worker, without_collections

INTERVAL = 0.2
"""The number of seconds between two checks, in which the main thread has time to run the handler itself."""


@contextmanager
def signals_watched(arrived: Callable[[int], None]) -> Iterator[None]:
    """Call ``arrived`` in another thread inside the block, with the number of each signal that Python handles, if it
    arrived before the last check. Enter the block in the main thread.
    """
    watch = _Watch(arrived)
    worker = Worker(lambda: without_collections(watch.look), INTERVAL)
    _watches.append(watch)
    try:
        yield
    finally:
        worker.pause()
        worker.end()
        if watch in _watches:
            watch.end()


class _Watch:
    def __init__(self, arrived: Callable[[int], None]) -> None:
        self._arrived = arrived
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._before = b""
        """The numbers that arrived before the last check."""
        self._original = signal.set_wakeup_fd
        self._programs = self._original(self._write, warn_on_full_buffer=False)
        signal.set_wakeup_fd = self._set
        if self._programs != -1:
            self._original(self._programs)

    def _set(self, fd: Any, /, **kwargs: Any) -> int:
        """Set the program's file, like ``signal.set_wakeup_fd``."""
        self._original(fd, **kwargs)
        if fd == -1:
            self._original(self._write, warn_on_full_buffer=False)
        before, self._programs = self._programs, fd
        return before

    def look(self) -> None:
        """Report the signals that arrived before the last check."""
        before, self._before = self._before, self._written()
        for number in before:
            self._arrived(number)

    def _written(self) -> bytes:
        try:
            return os.read(self._read, 1 << 12)
        except OSError:  # nothing, or the program closed it
            return b""

    def end(self) -> None:
        """Stop watching. If the program has a file, Python writes into it."""
        _watches.remove(self)
        signal.set_wakeup_fd = self._original
        if self._programs == -1:
            self._original(-1)
        os.close(self._write)
        os.close(self._read)


_watches: list[_Watch] = []


def _in_child() -> None:
    """Stop watching in a forked child. Otherwise a signal to the child would be read in its parent."""
    for watch in reversed(_watches.copy()):
        watch.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
