"""Pause the garbage collector during imports, and while a large graph is built.

An import creates some hundred thousand objects, and nearly all of them stay until the process ends. With its usual
thresholds the collector visits them again and again during the import, and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 1_000_000
"""The net number of new objects that triggers a collection, several times what an import creates."""


@contextmanager
def collector_waits() -> Iterator[None]:
    """Collect garbage only rarely in the block, then restore the thresholds."""
    before = gc.get_threshold()
    if before[0]:  # zero: the program wants no collections at all
        gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_usual: list[tuple[int, int, int]] = []
"""The thresholds from before ``collect_rarely``."""


def collect_rarely() -> None:
    """Collect garbage only rarely until ``collect_as_usual``, which is called before a program runs and when a screen
    is complete. Other commands end before that.
    """
    _usual.append(gc.get_threshold())
    gc.set_threshold(OBJECTS, *_usual[-1][1:])


def collect_as_usual() -> None:
    """Restore the thresholds from before ``collect_rarely``, if that was called. The objects so far are exempt from
    collections, so that a program is not slowed down by ours.
    """
    if _usual:
        gc.freeze()
    while _usual:
        gc.set_threshold(*_usual.pop())
