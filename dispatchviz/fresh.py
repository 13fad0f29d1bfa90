"""The machine as a new process finds it: a program that runs here twice must draw, count and record the same.

The thread's sets and modes, its sequence numbers, the numbers of backwards, the default random generators.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from dispatchviz.core.autograd import graph_task
from dispatchviz.core.keyset import default_excluded_set, default_included_set
from dispatchviz.core.native.random import DEFAULT_SEED, manual_seed
from dispatchviz.core.thread_state import thread


@contextmanager
def machine_as_new() -> Iterator[None]:
    """Inside the block nothing has happened yet; afterwards the thread is as it was."""
    before = {name: getattr(thread, name) for name in _AT_START}
    ids, graph_task._ids = graph_task._ids, itertools.count()
    _set_thread(_AT_START)
    manual_seed(DEFAULT_SEED)
    try:
        yield
    finally:
        _set_thread(before)
        graph_task._ids = ids


_AT_START: dict[str, int | bool | None] = {
    "included": default_included_set,
    "excluded": default_excluded_set,
    "grad_mode": True,
    "inference_mode": False,
    "sequence_nr": 0,
    "current_node": None,
}


def _set_thread(values: dict[str, int | bool | None]) -> None:
    for name, value in values.items():
        setattr(thread, name, value)
