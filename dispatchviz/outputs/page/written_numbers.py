"""Columns of numbers as text.

A number is written in digits of two kinds: any number of leading digits and one final digit. Plain JSON arrays would
need no code, but they were measured: compressed alike, they make the page of ``examples/forum.py`` 3.2 % bigger, which
a test of its size does not allow, and that of ``examples/mlp.py`` 4.6 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

DIGITS = "".join(char for char in map(chr, range(ord(" "), ord("~") + 1)) if char not in '"\\')
"""Characters that JSON writes unescaped."""

ENDING = 64
"""The number of digits that end a number. The others are leading digits."""

RECENT = 512
"""The number of different numbers that count as recent."""


def written(numbers: Iterable[int]) -> str:
    """Return numbers, which may be negative, as one text."""
    return "".join(map(_digits, numbers))


@lru_cache(maxsize=4096)
def _digits(number: int) -> str:
    rest, last = divmod(-2 * number - 1 if number < 0 else 2 * number, ENDING)
    leading = ""
    while rest:
        rest, digit = divmod(rest - 1, len(DIGITS) - ENDING)
        leading = DIGITS[ENDING + digit] + leading
    return leading + DIGITS[last]


def read(text: str) -> Iterator[int]:
    """Yield the numbers of a text."""
    value = 0
    for digit in map(DIGITS.index, text):
        if digit >= ENDING:
            value = value * (len(DIGITS) - ENDING) + digit - ENDING + 1
        else:
            number = value * ENDING + digit
            yield -(number + 1) // 2 if number % 2 else number // 2
            value = 0


def as_recent(numbers: Iterable[int]) -> Iterator[int]:
    """Yield each number as the count of other numbers since its last use. A negative value is the distance from the
    largest number so far.
    """
    seen = list[int]()
    recent = set[int]()  # the same numbers, because most others would be searched for in vain
    largest = -1
    for number in numbers:
        if number in recent:
            place = seen.index(number)
            yield place
            del seen[place]
        else:
            ahead = number - largest - 1
            yield -2 * ahead - 1 if ahead >= 0 else 2 * ahead
            largest = max(largest, number)
            recent.difference_update(seen[RECENT - 1 :])
            del seen[RECENT - 1 :]
            recent.add(number)
        seen.insert(0, number)


def from_recent(written: Iterable[int]) -> Iterator[int]:
    """Yield the original numbers."""
    seen: list[int] = []
    largest = -1
    for place in written:
        if place >= 0:
            number = seen.pop(place)
        else:
            number = largest + 1 + (-place // 2 if place % 2 else place // 2)
            largest = max(largest, number)
            del seen[RECENT - 1 :]
        yield number
        seen.insert(0, number)
