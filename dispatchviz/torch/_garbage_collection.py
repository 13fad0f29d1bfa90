"""Thresholds of Python's garbage collector, raised while the package is imported.

An import makes some hundred thousand objects, nearly all of which stay until the process ends. With its usual
thresholds the collector goes through them again and again while they are made, and finds nothing: a sixth of the whole
import. So the threshold of the youngest generation is out of reach until ``restore``; if an import fails on the way,
garbage is still collected, though rarely.
"""

from __future__ import annotations

import gc

_before = gc.get_threshold()
_OBJECTS = 500_000
"""Net number of new objects before the collector looks at them: thrice what an import makes."""

if _before[0]:  # zero: the program wants no collections at all
    gc.set_threshold(_OBJECTS, *_before[1:])


def restore() -> None:
    """The thresholds that were set before."""
    gc.set_threshold(*_before)
