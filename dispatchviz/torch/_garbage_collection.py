"""Pause the garbage collector during the import of the namespace, and exempt the imported objects afterwards.

Collections would take a sixth of the whole import (``dispatchviz/foundation/garbage_collection.py``). Therefore the
threshold of the youngest generation is raised until ``restore``. If an import fails in between, garbage is still
collected, though rarely.
"""

from __future__ import annotations

import gc
import sys

from dispatchviz.foundation.garbage_collection import OBJECTS

_before = gc.get_threshold()
_YOUNG = 500
"""The number of modules up to which a process counts as new: twice as many as an import of NumPy loads."""

_is_young = len(sys.modules) < _YOUNG

if _before[0]:  # zero: the program wants no collections at all
    gc.set_threshold(OBJECTS, *_before[1:])


def restore() -> None:
    """Restore the thresholds that were set before."""
    if _is_young:
        gc.freeze()
    gc.set_threshold(*_before)
