"""The thread pool of deeply nested backward passes (``ThreadPoolShared``, ``reentrant_thread_init`` of ``engine.cpp``).

A backward called during a backward runs in place, on the caller's stack. If ``MAX_DEPTH`` of them are nested on one
thread, the next one runs on a thread of the pool while its caller waits, since the stack would overflow otherwise. A
Node that is created there takes its sequence number from the counter of that thread.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue

MAX_DEPTH = 60

Work = Callable[[], None]


_changing_limit = threading.Lock()


def change_recursion_limit(by: int) -> None:
    """Change the recursion limit of all threads."""
    with _changing_limit:
        sys.setrecursionlimit(sys.getrecursionlimit() + by)


class _Job:
    """The work for which one caller waits."""

    __slots__ = ("done", "error", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.done = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the work. It never raises here; the caller raises the exception."""
        try:
            self.work()
        except BaseException as error:
            self.error = error
        self.done.set()


class ThreadPool:
    """A pool of threads, which are kept for later. A new one starts when all are busy."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._idle = threading.Semaphore(0)

    def run(self, work: Work) -> None:
        """Run ``work`` on a thread of the pool and wait for it. Raise the exception that it raised."""
        job = _Job(work)
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._serve, name="pt_autograd_pool", daemon=True).start()
        self._jobs.put(job)
        job.done.wait()
        if job.error is not None:
            raise job.error

    def _serve(self) -> None:
        while True:
            job = self._jobs.get()
            job.run()
            del job  # otherwise it would hold the last work until the next one comes
            self._idle.release()


pool = ThreadPool()
