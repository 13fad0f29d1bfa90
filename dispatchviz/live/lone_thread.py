"""Before PyTorch 2.9 kernels are watched only while no other thread of Python's runs that may call them.

There ours leaves its cell while the kernel runs (``kernel_calls.py``), and PyTorch frees it. Another thread that has
just chosen it, and waits for its turn to run Python, would go on in memory that is gone.
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
"""Of the module ``threading``, what ``Thread.start`` calls: which one depends on the release of Python."""
RETURNS = 3
"""So often our kernels come back when the last thread has ended: each time takes about a second."""


@contextmanager
def lone_thread_watched(torch: Any, cells: WatchedCells) -> Iterator[None]:
    """Inside the block our kernels are out of all cells while the program has threads."""
    if hands_out_kernels(torch._C):
        yield
        return
    threads = _Threads(cells)
    before = {name: vars(threading)[name] for name in STARTERS if name in vars(threading)}
    vars(threading).update({name: threads.told(original) for name, original in before.items()})
    try:
        yield
    finally:
        vars(threading).update(before)
        threads.returns = 0


def _calls_none(thread: threading.Thread) -> bool:
    runs = getattr(thread, "_target", None) or thread.run
    return getattr(runs, "__module__", None) in CALLING_NONE


class _Threads:
    """Those that run."""

    def __init__(self, cells: WatchedCells) -> None:
        self._cells = cells
        self._running: set[threading.Thread] = set()
        self._lock = threading.RLock()
        self.returns = RETURNS

    def told(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """What starts a thread, given its method ``_bootstrap``, and tells."""

        def start(bootstrap: Any, *args: Any, **kwargs: Any) -> Any:
            thread = bootstrap.__self__
            if not _calls_none(thread):
                self.about_to_start(thread)
            try:
                return original(bootstrap, *args, **kwargs)
            except RuntimeError:  # there are too many
                self.ended(thread)
                raise

        return start

    def about_to_start(self, thread: threading.Thread) -> None:
        """Its ``run`` tells when it has ended."""
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
        """The last one brings our kernels back."""
        with self._lock:
            if thread not in self._running:
                return
            vars(thread).pop("run", None)
            self._running.remove(thread)
            if not self._running and self.returns:
                self.returns -= 1
                self._cells.come_back()
