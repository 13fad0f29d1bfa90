"""The base class of all events."""

from __future__ import annotations

from msgspec import Struct


class Event(Struct, frozen=True, gc=False, array_like=True, tag=True):
    """What every event has."""

    # Subclasses inherit all four options; they repeat ``frozen``, which type checkers do not see otherwise.

    seq: int
    """Position in the trace, from 0; the event's name everywhere."""
    parent: int | None
    """``seq`` of the innermost event during which this one happened; None at the top."""
