"""``torch.sym_*``: arithmetic for numbers that may be symbolic (``torch/__init__.py``).

NB: the model has no symbolic numbers, so these are Python's numbers.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy


def sym_int(a: Any) -> int:
    """Truncate to an int."""
    return int(a)


def sym_float(a: Any) -> float:
    """Convert to a float."""
    return a.__sym_float__() if hasattr(a, "__sym_float__") else float(a)


def sym_not(a: Any) -> Any:
    """Return the negation."""
    return a.__sym_not__() if hasattr(a, "__sym_not__") else not a


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger; a float if either is one. Raise AssertionError for anything but numbers."""
    return _choose_number(builtins.max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller; a float if either is one. Raise AssertionError for anything but numbers."""
    return _choose_number(builtins.min, a, b)


def _choose_number(choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    numbers = (numpy.integer, numpy.floating, int, float)
    for value in (a, b):
        if not isinstance(value, numbers):
            raise AssertionError(f"expected {numbers}, got {type(value)}")
    chosen = choose(a, b)
    fractions = (numpy.floating, float)
    return float(chosen) if isinstance(a, fractions) or isinstance(b, fractions) else chosen


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """Return one of two values of one type. Raise AssertionError for a condition that is not a bool, and for two
    types.
    """
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sum(*args: Any) -> Any:
    """Return the sum of a list, or of the arguments."""
    return builtins.sum(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)


def sym_sqrt(a: Any) -> float:
    """Return the square root. Raise ValueError below 0."""
    return math.sqrt(a)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (sym_int, sym_float, sym_not, sym_max, sym_min, sym_ite, sym_sum, sym_sqrt)
}
