"""Pause the garbage collector during imports, while a large graph is built, and while a reader steps.

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


BY_CLOCK = (5_000, 5, OBJECTS)
"""The thresholds while a screen is open: never a full collection, and small ones a little later than usual."""

DUE = 2
"""The number of smaller collections after which a full one is due. After Python's 10 it would take a tenth of a
second.
"""

_before_screen: list[tuple[int, int, int]] = []
"""The thresholds from before ``collect_by_clock``."""

_more_exempt = False
"""True if objects became exempt since all were last looked at."""


def collect_by_clock() -> None:
    """Leave full collections to ``collect_if_due`` until ``collect_at_any_time``. Python's own would look at the whole
    trace within a key, for 50 ms and more. The objects so far are exempt from collections.
    """
    if not _before_screen:
        gc.freeze()
        _before_screen.append(gc.get_threshold())
        if gc.get_threshold()[0]:  # zero: the program wants no collections at all
            gc.set_threshold(*BY_CLOCK)


def exempt_so_far() -> None:
    """Exempt the objects so far from the collections of a screen."""
    if _before_screen:
        gc.freeze()


def collect_if_due(idle: bool = False) -> None:
    """Collect garbage if a full collection is due. The objects that are left are exempt from the next ones, until the
    reader is ``idle``: then all objects are looked at once, which takes some tenths of a second.
    """
    global _more_exempt
    if not _before_screen or not gc.isenabled():
        return
    if gc.get_count()[2] >= DUE:
        gc.collect()
        gc.freeze()
        _more_exempt = True
    elif idle and _more_exempt:
        _more_exempt = False
        gc.unfreeze()
        gc.collect()
        gc.freeze()


def collect_at_any_time() -> None:
    """Restore the thresholds from before ``collect_by_clock``, if that was called."""
    if _before_screen:
        gc.set_threshold(*_before_screen.pop())
        gc.unfreeze()
