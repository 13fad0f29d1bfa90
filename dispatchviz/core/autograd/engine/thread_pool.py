"""The thread pool of deeply nested backward passes (``ThreadPoolShared``, ``reentrant_thread_init`` of ``engine.cpp``).

A backward called during a backward runs in place, on the caller's stack. From ``MAX_DEPTH`` of them on one thread, the
next goes to a thread of the pool while its caller waits: the stack would overflow otherwise. A Node that is made there
takes its sequence number from the counter of that thread.
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
    """Of all threads."""
    with _changing_limit:
        sys.setrecursionlimit(sys.getrecursionlimit() + by)


class _Job:
    """What one caller waits for."""

    __slots__ = ("done", "error", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.done = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Never raises: the caller does."""
        try:
            self.work()
        except BaseException as error:
            self.error = error
        self.done.set()


class ThreadPool:
    """Threads that stay for later; a new one begins when all are busy."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._idle = threading.Semaphore(0)

    def run(self, work: Work) -> None:
        """Runs ``work`` on a thread of the pool and waits for it. Whatever it raises comes out here."""
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
            del job  # it holds what was run, until the next comes
            self._idle.release()


pool = ThreadPool()
