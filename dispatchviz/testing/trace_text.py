"""What a trace shows as one line of text, which a test compares with what it writes by hand.

Small differences of writing do not count: ``->`` is ``→``, spaces may be left out, ``AddBackward0`` is ``Add``. What a
failure shows as got can be pasted into the test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from dispatchviz.explain.trace_index.display_names import plain_node

ROOM = 96
"""So many characters of a text a failure shows."""

BEFORE = 60
"""So many of them at most are before the first difference."""

SIGNS = frozenset("→(),;=")

_WORD = re.compile(r"[→(),;=]|[^→(),;=]+")
_SPACED = {"→": " → ", ",": ", ", ";": "; "}
_SUFFIX = re.compile(r"(?<=.)Backward0?(?=#|$)")


def short_node(name: str) -> str:
    """``Add`` for ``AddBackward0``, ``AccumulateGrad`` for ``torch::autograd::AccumulateGrad``; ``PowBackward1``."""
    return _SUFFIX.sub("", plain_node(name))


def words(text: str) -> list[str]:
    """Names and signs of a text, each written in one way."""
    found = (word.strip() for word in _WORD.findall(text.replace("->", "→")))
    return [short_node(word) for word in found if word]


def written(parts: Sequence[str]) -> str:
    """The text of some words and signs."""
    return "".join(_SPACED.get(part, part) for part in parts)


Check = Callable[[Sequence[str]], None]
"""Raises ValueError if one of some words is a name that does not exist."""


def _any(words: Sequence[str]) -> None:
    """Name that are the program's own."""


class TraceText(str):
    """Equal to every text that has the same words. ValueError when it is compared with a name that does not exist."""

    def __new__(cls, parts: Sequence[tuple[str, int]], question: str = "", check: Check = _any) -> TraceText:
        """``parts``: the words, each with the step where it comes from; ``check`` raises ValueError for a wrong one."""
        return super().__new__(cls, written([word for word, _ in parts]))

    def __init__(self, parts: Sequence[tuple[str, int]], question: str = "", check: Check = _any) -> None:
        self._words, self._steps, self._check = [word for word, _ in parts], [step for _, step in parts], check
        self.question = question
        """The function that was asked, as a failure names it."""

    def __eq__(self, other: object) -> bool:
        __tracebackhide__ = True
        if not isinstance(other, str):
            return False
        theirs = words(other)
        if theirs == self._words:
            return True
        self._check(theirs)
        TraceText.last = self, other
        return False

    def __ne__(self, other: object) -> bool:
        __tracebackhide__ = True
        return not self == other

    __hash__ = str.__hash__

    last: ClassVar[tuple[TraceText, str] | None] = None
    """The texts that were compared last and differ: a bare ``assert`` says nothing of them (``explained``)."""

    def difference(self, expected: str) -> list[str]:
        """The lines of a failure: both texts around the word at which they part, which is marked."""
        theirs = words(expected)
        at = _parting(self._words, theirs)
        wanted, got = _shown(theirs, at), _shown(self._words, at)
        mark = f"            {'':{min(_column(self._words, at), BEFORE)}}^"
        return [f"{self.question} differs first at the mark", f"  expected  {wanted}", f"  got       {got}", mark]

    def step(self, expected: str) -> int | None:
        """The step at which the first difference shows; None if nothing happens."""
        at = _parting(self._words, words(expected))
        return self._steps[min(at, len(self._steps) - 1)] if self._steps else None


def explained(error: AssertionError) -> str:
    """What a failure says; of a bare ``assert`` that compared texts, as Python runs it without pytest, how they differ.

    For those who run a check on a trace themselves. ``TraceText.last`` is to be None before.
    """
    if str(error) or TraceText.last is None:
        return str(error)
    text, expected = TraceText.last
    return "\n".join(text.difference(expected))


def _parting(mine: Sequence[str], theirs: Sequence[str]) -> int:
    """The first place at which two lists of words differ."""
    differing = (k for k, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b)
    return next(differing, min(len(mine), len(theirs)))


def _column(parts: Sequence[str], at: int) -> int:
    """Where a word begins in the text."""
    return len(written(parts[: at + 1])) - len(parts[at]) if at < len(parts) else len(written(parts))


def _shown(parts: Sequence[str], at: int) -> str:
    """A text, as much of it as there is room for around a word."""
    text, cut = written(parts), max(_column(parts, at) - BEFORE, 0)
    text = "…" + text[cut + 1 :] if cut else text
    return (text if len(text) <= ROOM else text[: ROOM - 1] + "…") or "nothing"
