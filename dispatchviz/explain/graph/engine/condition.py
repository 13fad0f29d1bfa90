"""A condition that PyTorch's code asks, and what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Condition:
    """One term of an ``if``."""

    asked: str
    """In PyTorch's terms: ``!GradMode::is_enabled()``."""
    means: str
    """In plain words, with what the trace knows of it."""
    holds: bool | None
    """None: it was not asked, since one before it had decided."""
    decides: bool = False
    """It is what made the difference."""


def asked_until(terms: Iterable[Condition]) -> Iterator[Condition]:
    """Terms that are joined by ``&&``: the first that does not hold decides, and none after it is asked."""
    decided = False
    for term in terms:
        if decided:
            yield replace(term, holds=None)
        else:
            decided = not term.holds
            yield replace(term, decides=decided)
