"""The rule for releases before PyTorch 2.9: kernels are watched only while no other Python thread may call them.

In these releases our kernel leaves its cell while the original one runs (``kernel_calls.py``), and PyTorch frees it.
Another thread that has just selected our kernel and waits for the GIL would continue in freed memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.live.kernel_calls import hands_out_kernels
from dispatchviz.live.watched_cells import WatchedCells

CALLING_NONE = ("multiprocessing.queues", "tqdm._monitor", "dispatchviz.running.process.early_end")
"""Modules whose threads call no kernel."""
STARTERS = ("_start_new_thread", "_start_joinable_thread")
"""The functions of the module ``threading`` that ``Thread.start`` calls. Which of them it is depends on the release of
Python.
"""
RETURNS = 3
"""The number of times that our kernels are put back when the last thread has ended. Each time takes about a second."""


@contextmanager
def lone_thread_watched(torch: Any, cells: WatchedCells) -> Iterator[None]:
    """Keep our kernels out of all cells while the program has other threads, inside the block."""
    if hands_out_kernels(torch._C):
        yield
        return
    threads = _Threads(cells)
    before = {name: vars(threading)[name] for name in STARTERS if name in vars(threading)}
    vars(threading).update({name: threads.counting(original) for name, original in before.items()})
    try:
        yield
    finally:
        vars(threading).update(before)
        threads.returns = 0


def _calls_none(thread: threading.Thread) -> bool:
    runs = getattr(thread, "_target", None) or thread.run
    return getattr(runs, "__module__", None) in CALLING_NONE


class _Threads:
    """The other threads that run."""

    def __init__(self, cells: WatchedCells) -> None:
        self._cells = cells
        self._running: set[threading.Thread] = set()
        self._lock = threading.RLock()
        self.returns = RETURNS

    def counting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function that starts a thread, given the thread's method ``_bootstrap``, so that the thread is
        counted.
        """

        def start(bootstrap: Any, *args: Any, **kwargs: Any) -> Any:
            thread = bootstrap.__self__
            if not _calls_none(thread):
                self.about_to_start(thread)
            try:
                return original(bootstrap, *args, **kwargs)
            except RuntimeError:  # there are too many threads
                self.ended(thread)
                raise

        return start

    def about_to_start(self, thread: threading.Thread) -> None:
        """Take our kernels out of all cells. Wrap the thread's ``run``, so that it reports its end."""
        run = thread.run

        def watched_run() -> None:
            try:
                run()
            finally:
                self.ended(thread)

        setattr(thread, "run", watched_run)  # noqa: B010
        with self._lock:
            if not self._running:
                self._cells.leave()
            self._running.add(thread)

    def ended(self, thread: threading.Thread) -> None:
        """Put our kernels back if this was the last thread."""
        with self._lock:
            if thread not in self._running:
                return
            vars(thread).pop("run", None)
            self._running.remove(thread)
            if not self._running and self.returns:
                self.returns -= 1
                self._cells.come_back()
