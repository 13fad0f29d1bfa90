"""Questions about a tensor or a Node with their answers, as values. The words of a screen are made elsewhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from dispatchviz.explain.things.thing import Thing

MOST = 8
"""The number of answers to a question that are listed: those nearest to the step at which it is asked."""


class Answer(Struct, frozen=True):
    """An answer: an event, and the step at which it happened."""

    text: str
    """The text, such as ``saved by MulBackward0 as other (version 1)``."""
    seq: int | None
    """The step at which it happened, or None if there is none in the trace."""
    thing: Thing | None = None
    """The tensor or Node that it names, which has questions too."""


class Question(Struct, frozen=True):
    """A question with the answers that are listed."""

    asked: str
    answers: tuple[Answer, ...]
    more: int = 0
    """The number of answers that are not listed."""
    none: str = ""
    """The text if there is no answer."""


def nearest(steps: Sequence[int], at: int, most: int = MOST) -> list[int]:
    """Return those of some sorted steps that are nearest to a step, in order: half of them before it and half after it,
    if possible.
    """
    place = bisect_right(steps, at)
    first = max(min(place - most // 2, len(steps) - most), 0)
    return list(steps[first : first + most])
