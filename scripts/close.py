"""When two records are the same: exactly, but numbers of tensors within rounding.

Another processor, or NumPy instead of PyTorch, may round the last bit of an ``exp`` the other way.
"""

from __future__ import annotations

import math
from typing import Any


def close(one: Any, other: Any, rounding: float = 2e-6) -> bool:
    """Equal, floats within rounding; nan equals nan."""
    if isinstance(one, float) and isinstance(other, float):
        same = math.isclose(one, other, rel_tol=rounding, abs_tol=rounding / 10)
        return same or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(close(one[key], other[key], rounding) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(close(a, b, rounding) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and bool(one == other)
