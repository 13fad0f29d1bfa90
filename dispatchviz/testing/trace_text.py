"""A property of a trace as one line of text, which a test compares with a text written by hand.

Small differences of writing do not count: ``->`` equals ``→``, spaces may be left out, ``AddBackward0`` equals ``Add``.
The actual text of a failure can be pasted into the test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from dispatchviz.explain.trace_index.display_names import plain_node

ROOM = 96
"""The most characters of a text that a failure shows."""

BEFORE = 60
"""The most characters before the first difference."""

SIGNS = frozenset("→(),;=")

_WORD = re.compile(r"[→(),;=]|[^→(),;=]+")
_SPACED = {"→": " → ", ",": ", ", ";": "; "}
_SUFFIX = re.compile(r"(?<=.)Backward0?(?=#|$)")


def short_node(name: str) -> str:
    """Shorten a Node's name: ``Add`` for ``AddBackward0``, ``AccumulateGrad`` for ``torch::autograd::AccumulateGrad``,
    but ``PowBackward1`` unchanged.
    """
    return _SUFFIX.sub("", plain_node(name))


def words(text: str) -> list[str]:
    """Split a text into names and signs, in a uniform spelling."""
    found = (word.strip() for word in _WORD.findall(text.replace("->", "→")))
    return [short_node(word) for word in found if word]


def written(parts: Sequence[str]) -> str:
    """Join words and signs to a text."""
    return "".join(_SPACED.get(part, part) for part in parts)


Check = Callable[[Sequence[str]], None]
"""A function that raises ValueError if a word is a name that does not exist."""


def _any(words: Sequence[str]) -> None:
    """Accept all words, for names that the program chooses."""


class TraceText(str):
    """A text that equals every text with the same words. Raise ValueError on comparison with a name that does not
    exist.
    """

    def __new__(cls, parts: Sequence[tuple[str, int]], question: str = "", check: Check = _any) -> TraceText:
        """``parts`` has the words, each with the step that it comes from; ``check`` raises ValueError for an unknown
        word.
        """
        return super().__new__(cls, written([word for word, _ in parts]))

    def __init__(self, parts: Sequence[tuple[str, int]], question: str = "", check: Check = _any) -> None:
        self._words, self._steps, self._check = [word for word, _ in parts], [step for _, step in parts], check
        self.question = question
        """The function that made this text, for failures."""

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
    """The last two texts that were compared and differ, because a bare ``assert`` has no message (``explained``)."""

    def difference(self, expected: str) -> list[str]:
        """Return the lines of a failure: both texts around the first word that differs, which is marked."""
        theirs = words(expected)
        at = _parting(self._words, theirs)
        wanted, got = _shown(theirs, at), _shown(self._words, at)
        mark = f"            {'':{min(_column(self._words, at), BEFORE)}}^"
        return [f"{self.question} differs first at the mark", f"  expected  {wanted}", f"  got       {got}", mark]

    def step(self, expected: str) -> int | None:
        """Return the step of the first difference; None if this text is empty."""
        at = _parting(self._words, words(expected))
        return self._steps[min(at, len(self._steps) - 1)] if self._steps else None


def explained(error: AssertionError) -> str:
    """Return the message of a failure. For a bare ``assert`` that compared texts outside pytest, say how they differ.

    This is for code that runs a check on a trace itself. It must set ``TraceText.last`` to None before the check.
    """
    if str(error) or TraceText.last is None:
        return str(error)
    text, expected = TraceText.last
    return "\n".join(text.difference(expected))


def _parting(mine: Sequence[str], theirs: Sequence[str]) -> int:
    """Return the first index at which two lists of words differ."""
    differing = (k for k, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b)
    return next(differing, min(len(mine), len(theirs)))


def _column(parts: Sequence[str], at: int) -> int:
    """Return the column at which a word begins in the text."""
    return len(written(parts[: at + 1])) - len(parts[at]) if at < len(parts) else len(written(parts))


def _shown(parts: Sequence[str], at: int) -> str:
    """Return the part of a text around a word."""
    text, cut = written(parts), max(_column(parts, at) - BEFORE, 0)
    text = "…" + text[cut + 1 :] if cut else text
    return (text if len(text) <= ROOM else text[: ROOM - 1] + "…") or "nothing"
