"""The arrays that CuPy's sorting functions and methods refuse, which no record contains.

Thrust sorts, with one list of dtypes (``type_dispatcher.cuh``); ``ml_dtypes`` are not added to it.
"""

from __future__ import annotations

from typing import Any

from numpy.exceptions import AxisError

SORTING = ("sort", "argsort", "msort", "sort_complex", "lexsort", "partition", "argpartition")
IN_PLACE = ("sort", "partition")
"""Methods that write into their array."""
DTYPES = "?bBhHiIlLqQefdFD"


def check_sorting(name: str, numbers: Any, kwargs: dict[str, Any], method: bool = False) -> None:
    """Raise NotImplementedError, ValueError or AxisError for an array that CuPy does not sort."""
    if name not in SORTING:
        return
    if kwargs.get("kind") not in (None, "stable"):
        raise ValueError("kind can only be None or 'stable'")
    if name != "argsort" and name != "argpartition" and not numbers.ndim:
        raise AxisError("Sorting arrays with the rank of zero is not supported")
    if method and name in IN_PLACE and not numbers.flags.c_contiguous:
        raise NotImplementedError("Sorting non-contiguous array is not supported.")
    if name == "lexsort" and numbers.ndim > 2:
        raise NotImplementedError("Keys with the rank of three or more is not supported in lexsort")
    if numbers.dtype.char not in DTYPES:
        raise NotImplementedError(f"Sorting arrays with dtype '{numbers.dtype}' is not supported")
