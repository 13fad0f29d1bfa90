"""The base class of all events."""

from __future__ import annotations

from msgspec import Struct

from dispatchviz.core.record.events.field_types import Step


class Event(Struct, frozen=True, gc=False, array_like=True, tag=True):
    """The base class of events, with the fields that every event has."""

    # Subclasses inherit all four options; they repeat ``frozen``, which type checkers do not see otherwise.

    seq: Step
    """Position in the trace, from 0. It names the event everywhere."""
    parent: Step | None
    """``seq`` of the innermost event during which this one happened; None at the top."""


class Container(Event, frozen=True):
    """An event during which others can happen, and which can be their parent."""
