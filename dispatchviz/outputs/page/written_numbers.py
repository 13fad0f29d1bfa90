"""Columns of numbers as text.

A number is written in digits of two kinds: leading ones, as many as it needs, and one of the others, which ends it.
Plain JSON arrays need no code for this, but were measured: compressed alike, they make the page of
``examples/forum.py`` 3.2 % bigger, 153.5 kB, above the 150 kB that a test allows, that of ``examples/mlp.py`` 4.6 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

DIGITS = "".join(char for char in map(chr, range(ord(" "), ord("~") + 1)) if char not in '"\\')
"""Characters that JSON writes as themselves."""

ENDING = 64
"""So many of them end a number, the others lead."""

RECENT = 512
"""So many different numbers are recent ones."""


def written(numbers: Iterable[int]) -> str:
    """Numbers, negative ones too, one after the other."""
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
    """The numbers again."""
    value = 0
    for digit in map(DIGITS.index, text):
        if digit >= ENDING:
            value = value * (len(DIGITS) - ENDING) + digit - ENDING + 1
        else:
            number = value * ENDING + digit
            yield -(number + 1) // 2 if number % 2 else number // 2
            value = 0


def as_recent(numbers: Iterable[int]) -> Iterator[int]:
    """Each number as how many others came since it came last; below zero as how far it is from the largest so far."""
    seen: list[int] = []
    largest = -1
    for number in numbers:
        try:
            place = seen.index(number)
            yield place
            del seen[place]
        except ValueError:
            ahead = number - largest - 1
            yield -2 * ahead - 1 if ahead >= 0 else 2 * ahead
            largest = max(largest, number)
            del seen[RECENT - 1 :]
        seen.insert(0, number)


def from_recent(written: Iterable[int]) -> Iterator[int]:
    """The numbers again."""
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
