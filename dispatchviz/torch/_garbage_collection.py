"""Pause the garbage collector during the import of the namespace, and exempt the imported objects afterwards.

Collections would take a sixth of the whole import (``dispatchviz/foundation/garbage_collection.py``). Therefore the
threshold of the youngest generation is raised until ``restore``. If an import fails in between, garbage is still
collected, though rarely.
"""

from __future__ import annotations

import gc

from dispatchviz.foundation.garbage_collection import OBJECTS

_before = gc.get_threshold()
_YOUNG = 60_000
"""The number of objects up to which a process counts as new: twice as many as an import of NumPy creates."""

_is_young = len(gc.get_objects()) < _YOUNG

if _before[0]:  # zero: the program wants no collections at all
    gc.set_threshold(OBJECTS, *_before[1:])


def restore() -> None:
    """Restore the thresholds that were set before."""
    gc.set_threshold(*_before)
    if _is_young:
        gc.freeze()
