"""Text that a reader typed: whole numbers, and answers quoted in a note."""

from __future__ import annotations

from dispatchviz.foundation.english import shortened

DIGITS = 18
"""The maximum number of digits of a step. Python refuses to convert numbers of some thousand digits."""

LONGEST = 40
"""The maximum number of characters of an answer to quote in a note."""


def whole_number(digits: str) -> int:
    """Convert ASCII digits to a number. Too many digits give a number larger than any step."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= DIGITS else 10**DIGITS


def is_whole_number(text: str) -> bool:
    """Return whether ``whole_number`` accepts a text. ``int`` also takes digits of other scripts."""
    return text.isascii() and text.isdigit()


def repeated(text: str) -> str:
    """The answer as a note quotes it."""
    return shortened(text, LONGEST)
