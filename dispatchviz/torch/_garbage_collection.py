"""The garbage collector while the namespace is imported: it waits, and then leaves alone what the import made.

Collections would be a sixth of the whole import (``dispatchviz/foundation/garbage_collection.py``). So the threshold of
the youngest generation is out of reach until ``restore``; if an import fails on the way, garbage is still collected,
though rarely.
"""

from __future__ import annotations

import gc

from dispatchviz.foundation.garbage_collection import OBJECTS

_before = gc.get_threshold()
_YOUNG = 60_000
"""Objects of a process in which a program has not done much yet: twice those of an import of NumPy."""

_is_young = len(gc.get_objects()) < _YOUNG

if _before[0]:  # zero: the program wants no collections at all
    gc.set_threshold(OBJECTS, *_before[1:])


def restore() -> None:
    """The thresholds that were set before."""
    gc.set_threshold(*_before)
    if _is_young:
        gc.freeze()
