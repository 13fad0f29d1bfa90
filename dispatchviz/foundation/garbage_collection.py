"""Pause the garbage collector during imports and while a large graph is built.

An import creates some hundred thousand objects, and nearly all of them stay until the process ends. With its usual
thresholds the collector visits them again and again during the import, and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 500_000
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
