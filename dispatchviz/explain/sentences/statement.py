"""Sentences as values: their kind, their text and the facts about PyTorch that they state; and the number of steps.

``why`` functions return statements, and the screens show their text. The name of a kind is written only once, beside
its sentence, so that all kinds can be listed without running the code. The facts are ``claims``: the tests ask PyTorch
about each of them, over many programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from dispatchviz.explain.sentences.sentence_claims import Claim

Part = Literal["", "why", "PyTorch says", "try"]
"""The parts of a diagnosis; empty in other sentences."""


class Statement(NamedTuple):
    """One sentence, or two or three that belong together."""

    kind: str
    """The name of the sentence among all others, such as ``gradient stolen``."""
    text: str
    """The text on the screen."""
    claims: Iterable[Claim] = ()
    """The facts about PyTorch; empty if the text only repeats the event."""
    part: Part = ""
    """The part of a diagnosis that begins with it, on a line of its own."""


class LaterClaims:
    """Claims that are created when they are read: a sentence that names three Nodes may have thousands."""

    def __init__(self, make: Callable[[], Iterable[Claim]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._make())

    def __bool__(self) -> bool:
        return any(True for _ in self)


Statements = Statement | tuple[Statement, ...]
"""The result of a ``why`` function: one statement, or several in order."""


def text_of(said: Iterable[Statement]) -> str:
    """Join the sentences into one text. Each part of a diagnosis is a line that begins with its name."""
    texts = (f"\n{each.part}  {each.text}" if each.part else f" {each.text}" for each in said if each.text)
    return "".join(texts)[1:]


def parts_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text from ``text_of``, each with the name of its part; an ordinary sentence has no name."""
    for text_line in text.split("\n"):
        name, _, rest = text_line.partition("  ")
        yield (name, rest) if name in get_args(Part) else ("", text_line)


PLACE = "step {step} of {count}"
LAST = " (last)"
"""The mark of the last step, whose number is one less than the number of steps."""

PART = "SOME of COUNT steps"
"""The form that a page fills in."""


def place_of(step: int, count: int) -> str:
    """``step 2 of 326``, ``step 325 of 326 (last)``."""
    return PLACE.format(step=step, count=f"{count:,}") + (LAST if step == count - 1 else "")


def number_of_steps(count: int) -> str:
    """``326 steps``."""
    return f"{count:,} step{'' if count == 1 else 's'}"


def part_of(some: int, count: int) -> str:
    """``3 of 326 steps``, for a filter."""
    return f"{some:,} of {number_of_steps(count)}"


def numbers_of_steps(count: int) -> str:
    """``0 to 325``: the step numbers that can be typed."""
    return f"0 to {count - 1}" if count else "none"
