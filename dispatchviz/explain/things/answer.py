"""Questions of a thing with their answers, as values; the words of a screen are made elsewhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dispatchviz.explain.things.thing import Thing

MOST = 8
"""So many answers to one question are told, those nearest to the step at which it is asked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: what happened, and where."""

    text: str
    """``saved by MulBackward0 as other (version 1)``."""
    seq: int | None
    """The step at which it happened; None: at no step of the trace."""
    thing: Thing | None = None
    """What it names, which can be asked, too."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with all that is told of its answers."""

    asked: str
    answers: tuple[Answer, ...]
    more: int = 0
    """Answers that are not told."""
    none: str = ""
    """What is said where there is no answer."""


def nearest(steps: Sequence[int], at: int, most: int = MOST) -> list[int]:
    """Of sorted steps those around one, in order: as many before as after it, if there are."""
    place = bisect_right(steps, at)
    first = max(min(place - most // 2, len(steps) - most), 0)
    return list(steps[first : first + most])
