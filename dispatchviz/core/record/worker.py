"""A thread of ours beside the program's: it runs the pieces of work that it gets, one after the other.

The program must not notice it. No garbage collection runs in it, since that would call the program's finalizers on a
thread that is not theirs. It is ended before the process forks, since Python warns of a fork while several threads run.
"""

from __future__ import annotations

import _thread
import gc
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable

from dispatchviz.core.seam.outside_errors import is_from_outside, own_errors_suppressed

PATIENCE = 0.05
"""The number of seconds after which a waiting caller makes sure that a working thread exists."""

AT_MOST = 0.2
"""The number of seconds that a fork waits for the operating system to end a thread that has nothing more to do."""

PAUSE = 0.0002
"""The number of seconds between two checks."""

_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


class Worker:
    """A thread that runs pieces of work. It calls ``idle`` whenever it got none for ``interval`` seconds.

    All methods may be called in any thread, and in a signal handler that interrupted one of them.
    """

    def __init__(self, idle: Callable[[], None], interval: float) -> None:
        self._idle, self._interval = idle, interval
        self._given: deque[_Piece] = deque()
        self._wake = _thread.allocate_lock()
        """A lock that is held while there is nothing to do."""
        self._wake.acquire()
        self._working = _thread.allocate_lock()
        """A lock that is held by the working thread: at most one works, and none waits to."""
        self._ident = self._native = 0
        """The identifier of the working thread."""
        self._starting = False
        """True while a thread is starting."""
        self._pausing = self.over = False
        _workers.add(self)
        self.resume()

    def do(self, work: Callable[[], None]) -> None:
        """Run a piece of work in the thread and return when it is done. Raise the exception that it raised.

        If a signal handler raises an exception meanwhile, such as KeyboardInterrupt, it is raised after the work; a
        second one is raised at once. A call from within the work does nothing.
        """
        if self._ident == _thread.get_ident():
            return
        piece = _Piece(work)
        self._given.append(piece)
        interrupted: BaseException | None = None
        try:
            while not piece.over:
                try:
                    self._rouse()
                    self.resume()
                    piece.done.acquire(True, PATIENCE)  # an exception may lose its result
                except BaseException as error:
                    if interrupted is not None:
                        raise
                    interrupted = error
            if interrupted is not None or piece.error is not None:
                raise interrupted or piece.error  # type: ignore[misc]
        finally:
            piece.error = None
            del interrupted  # for the same reason as in ``SafetyNet._failed``

    def end(self) -> None:
        """End the thread after the work that it already has."""
        self.over = True
        self._rouse()

    def resume(self) -> None:
        """Start the thread if there is none."""
        if self._working.locked() or (self.over and not self._given):
            return
        self._starting = True
        try:
            _thread.start_new_thread(self._work, ())
        except RuntimeError as error:  # no more threads can be started: the caller that needs the work does it
            if is_from_outside(error):
                raise
            self._pausing = True
            self._work(until_done=True)

    def pause(self) -> None:
        """End the thread until ``do`` or ``resume`` needs one."""
        if self._ident == _thread.get_ident():
            return
        self._pausing, give_up_at = True, time.monotonic() + AT_MOST
        try:
            while self._working.locked() or (self._starting and time.monotonic() < give_up_at):
                self._rouse()
                time.sleep(PAUSE)
        finally:
            self._pausing = False
        _wait_for_end(self._native)

    def _rouse(self) -> None:
        with own_errors_suppressed(RuntimeError):  # it is awake
            self._wake.release()

    # -- in the thread: no objects are created while waiting, since they would count toward a garbage collection ------

    def _work(self, until_done: bool = False) -> None:
        if not self._working.acquire(False):
            return
        self._starting = False
        self._ident, self._native = _thread.get_ident(), _thread.get_native_id()
        try:
            while self._given or not (self._pausing or self.over):
                if self._given:
                    _without_collections(self._given.popleft())
                elif not self._wake.acquire(True, self._interval):
                    self._idle()
        finally:
            self._ident = 0
            if until_done:
                self._native, self._pausing = 0, False
            self._working.release()


class _Piece:
    """A piece of work."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self.error: BaseException | None = None
        self.over = False
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def __call__(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.error = error


def _without_collections(piece: _Piece) -> None:
    without_collections(piece)
    piece.over = True
    piece.done.release()


def without_collections(work: Callable[[], None]) -> None:
    """Run work during which no automatic garbage collection happens, even if other threads do the same at that time.

    It sets the threshold instead of calling ``gc.disable``, so that ``gc.isenabled`` still returns the program's
    setting.
    """
    _thresholds.put_off()
    try:
        work()
    finally:
        _thresholds.put_back()


class _Thresholds:
    """The program's thresholds while some of our threads work."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._working = 0
        self._before = (0, 0, 0)

    def put_off(self) -> None:
        """Save the thresholds and set them to 0, if no other thread has done so."""
        with self._lock:
            if not self._working:
                self._before = gc.get_threshold()
                gc.set_threshold(0)
            self._working += 1

    def put_back(self) -> None:
        """Restore the thresholds when the last thread is done, unless the program has set others meanwhile."""
        with self._lock:
            self._working -= 1
            if not self._working and not gc.get_threshold()[0]:
                gc.set_threshold(*self._before)


_thresholds = _Thresholds()


def resume_all() -> None:
    """Resume all workers after a fork, in the parent."""
    for worker in list(_workers):
        if not worker.over:
            worker.resume()


def _pause_all() -> None:
    for worker in list(_workers):
        worker.pause()


def _wait_for_end(native: int) -> None:
    """Wait until a thread has ended. Python counts the threads of the operating system, in which an ended thread
    remains for a moment.
    """
    give_up_at = time.monotonic() + AT_MOST
    while native and os.path.exists(f"/proc/self/task/{native}") and time.monotonic() < give_up_at:
        time.sleep(PAUSE)


if hasattr(os, "register_at_fork"):
    # Not resumed there: Python looks for other threads after that. ``do`` resumes, and so does
    # ``running/process/children.py``.
    os.register_at_fork(before=_pause_all)
