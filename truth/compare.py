"""Comparison of two records: exact, except that numbers of tensors are compared within rounding.

Another processor, or NumPy instead of PyTorch, may round the last bit of an ``exp`` differently.
"""

from __future__ import annotations

import difflib
import math
import re
import struct
from collections.abc import Iterable
from typing import Any


def close(one: Any, other: Any, rounding: float = 2e-6) -> bool:
    """Return whether values are equal, with floats within rounding; nan equals nan."""
    if isinstance(one, float) and isinstance(other, float):
        same = math.isclose(one, other, rel_tol=rounding, abs_tol=rounding / 10)
        return same or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(close(one[key], other[key], rounding) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(close(a, b, rounding) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and bool(one == other)


NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?")
HALF_ROUNDING = 4e-3


def close_text(one: str, other: str) -> bool:
    """Return whether texts are equal, with printed numbers within rounding; if all fit into half precision, within its
    rounding.
    """
    if NUMBER.sub("", one) != NUMBER.sub("", other):
        return False
    numbers = [list(map(float, NUMBER.findall(text))) for text in (one, other)]
    is_half = all(map(_fits_half, (*numbers[0], *numbers[1])))
    return close(*numbers, HALF_ROUNDING if is_half else 2e-6)


def _fits_half(number: float) -> bool:
    try:
        return struct.unpack("e", struct.pack("e", number))[0] == number
    except OverflowError:
        return False


def difference(name: str, torch: Iterable[str], model: Iterable[str]) -> str:
    """A unified diff of the lines, empty if they are equal."""
    ours, theirs = list(model), list(torch)
    if ours == theirs:
        return ""
    lines = difflib.unified_diff(theirs, ours, "PyTorch", "model", lineterm="", n=4)
    return f"{name}:\n" + "\n".join(lines)


def met_in_order(torch: list[str], model: list[str]) -> int:
    """The number of PyTorch's steps that the model makes too, in PyTorch's order."""
    if torch == model:
        return len(torch)
    blocks = difflib.SequenceMatcher(None, torch, model, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)
