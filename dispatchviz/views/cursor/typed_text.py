"""What a reader typed: whole numbers, and how a remark repeats an answer."""

from __future__ import annotations

from dispatchviz.foundation.english import shortened

DIGITS = 18
"""No trace has a step of more digits, and of some thousands Python refuses to make a number."""

LONGEST = 40
"""Characters of an answer that a remark repeats."""


def whole_number(digits: str) -> int:
    """The number that some ASCII digits are; of very many, one that is larger than any step."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= DIGITS else 10**DIGITS


def is_whole_number(text: str) -> bool:
    """Return whether ``whole_number`` reads a text: ``int`` takes the digits of all scripts, this only ours."""
    return text.isascii() and text.isdigit()


def repeated(text: str) -> str:
    """An answer as a remark repeats it."""
    return shortened(text, LONGEST)
