"""The garbage collector while modules are imported, or while a big graph is made: it waits.

An import makes some hundred thousand objects, nearly all of which stay until the process ends. With its usual
thresholds the collector goes through them again and again while they are made, and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 500_000
"""Net number of new objects before the collector looks at them: several times what an import makes."""


@contextmanager
def collector_waits() -> Iterator[None]:
    """Inside the block garbage is collected rarely; afterwards the thresholds are as before."""
    before = gc.get_threshold()
    if before[0]:  # zero: the program wants no collections at all
        gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
