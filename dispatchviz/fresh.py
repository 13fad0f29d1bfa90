"""The machine as a new process finds it: a program that runs here twice must draw, count and record the same.

The thread's sets and modes, its sequence numbers, the numbers of backwards, the default random generators.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from dispatchviz.core.autograd import graph_task
from dispatchviz.core.native.random import DEFAULT_SEED, manual_seed
from dispatchviz.core.thread_state import State, thread


@contextmanager
def machine_as_new() -> Iterator[None]:
    """Inside the block nothing has happened yet; afterwards the thread is as it was."""
    before, thread.state = thread.state, State(thread.state.thread_id)
    ids, graph_task._ids = graph_task._ids, itertools.count()
    manual_seed(DEFAULT_SEED)
    try:
        yield
    finally:
        thread.state = before
        graph_task._ids = ids
