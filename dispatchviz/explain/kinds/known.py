"""How a kind of event is known in a recording of an installed PyTorch: observed there, derived from its tables or from
the state before and after, or unseen, since a release build does not tell of it.

Of the model everything is known: it says itself what it does. Not here: how things are observed (``dispatchviz/live``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

How = Literal["observed", "derived", "unseen"]


class Known(NamedTuple):
    """How a kind of event is known."""

    how: How
    by: str
    """Observed: where it is seen. Derived: what from. Unseen: what is not seen."""
    fields: Mapping[str, tuple[How, str]] = {}
    """Fields that are known another way than the event, and what from."""

    def __str__(self) -> str:
        """``observed: by whom; mask derived: from what``"""
        fields = [f"{name} {how}: {by}" for name, (how, by) in self.fields.items()]
        return "; ".join((f"{self.how}: {self.by}", *fields))


def unseen(by: str) -> Known:
    """A kind that a recording of an installed PyTorch cannot have."""
    return Known("unseen", by)


QUEUE = "counts and ready queues are inside the engine"
SWITCHES = "the switches of the thread are not watched; its key sets are, at each call"
RELEASED = "a Node drops what it saved, and is freed, without a word"
