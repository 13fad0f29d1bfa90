"""A sentence as a value: its kind, its text, the facts about PyTorch that it states; and how many steps a trace has.

``why`` modules return statements; what is shown is their words. A kind is a short name written where the sentence is
written, and nowhere twice, so that all kinds can be listed without running anything. The facts are ``claims``: the
tests ask PyTorch about each, over many programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, get_args

from dispatchviz.explain.sentences.sentence_claims import Claim

Part = Literal["", "why", "PyTorch says", "try"]
"""The parts of a diagnosis; empty in other sentences."""


class Statement(NamedTuple):
    """One sentence, or two or three that belong together."""

    kind: str
    """``gradient stolen``: names the sentence among all others."""
    text: str
    """What is shown."""
    claims: Iterable[Claim] = ()
    """What it states about PyTorch; empty if it only repeats the event."""
    part: Part = ""
    """The part of a diagnosis that begins with it, on a line of its own."""


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
    """The sentences as one text; each part of a diagnosis is a line that begins with its name."""
    texts = (f"\n{each.part}  {each.text}" if each.part else f" {each.text}" for each in said if each.text)
    return "".join(texts)[1:]


def parts_of(text: str) -> Iterator[tuple[str, str]]:
    """The lines of such a text, each with the name of its part, which is empty of an ordinary sentence."""
    for text_line in text.split("\n"):
        name, _, rest = text_line.partition("  ")
        yield (name, rest) if name in get_args(Part) else ("", text_line)


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
