"""The one place where arrays are put in order."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.tensor.dtype import bfloat16


def stable_argsort(array: Any, axis: int = -1) -> Any:
    """Where the smallest is, then the next, equal ones as they come, nan last. For NumPy's arrays and CuPy's.

    bfloat16 is sorted as float32, which has all its numbers in the same order: CuPy does not sort it, and NumPy puts
    no nan behind the others.
    """
    comparable = array.astype(numpy.float32) if array.dtype == bfloat16.numpy else array
    return comparable.argsort(axis=axis, kind="stable")
