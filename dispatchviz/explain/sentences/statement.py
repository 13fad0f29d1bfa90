"""A sentence as a value: its kind, its text, the facts about PyTorch that it states; and how many steps a trace has.

``why`` modules return statements; what is shown is their words. A kind is a short name written where the sentence is
written, and nowhere twice, so that all kinds can be listed without running anything. The facts are ``claims``: the
tests ask PyTorch about each, over many programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dispatchviz.explain.sentences.sentence_claims import Claim


class Statement(NamedTuple):
    """One sentence, or two or three that belong together."""

    kind: str
    """``gradient stolen``: names the sentence among all others."""
    text: str
    """What is shown."""
    claims: Iterable[Claim] = ()
    """What it states about PyTorch; empty if it only repeats the event."""


class LaterClaims:
    """Claims that are made when somebody asks for them: there may be thousands to a sentence that names three Nodes."""

    def __init__(self, make: Callable[[], Iterable[Claim]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._make())

    def __bool__(self) -> bool:
        return any(True for _ in self)


Statements = Statement | tuple[Statement, ...]
"""What a ``why`` function gives: one statement, or several that are read one after the other."""


def text_of(said: Iterable[Statement]) -> str:
    """The sentences as one text."""
    return " ".join(statement.text for statement in said if statement.text)


PLACE = "step {step} of {count}"
LAST = " (last)"
"""Behind the place of the last step: its number is one less than the number of steps."""

PART = "SOME of COUNT steps"
"""As a page fills it in."""


def place_of(step: int, count: int) -> str:
    """``step 2 of 326``, ``step 325 of 326 (last)``."""
    return PLACE.format(step=step, count=f"{count:,}") + (LAST if step == count - 1 else "")


def number_of_steps(count: int) -> str:
    """``326 steps``."""
    return f"{count:,} step{'' if count == 1 else 's'}"


def part_of(some: int, count: int) -> str:
    """``3 of 326 steps``, of a filter."""
    return f"{some:,} of {number_of_steps(count)}"


def numbers_of_steps(count: int) -> str:
    """``0 to 325``: the numbers that can be typed."""
    return f"0 to {count - 1}" if count else "none"
