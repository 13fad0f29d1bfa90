"""Events of errors, and events that this version cannot decode."""

from __future__ import annotations

from dispatchviz.core.record.events.event import Event


class ErrorRaised(Event, frozen=True):
    """An error is raised. ``parent`` is the event that it interrupts."""

    exception: str
    """Name of the exception's class: ``RuntimeError``."""
    message: str
    """``str`` of the exception."""


class Unknown(Event, frozen=True):
    """An event of a newer or older format version, kept and shown unchanged."""

    kind: str
    """Name of the event's class in that version."""
    fields: str
    """Its other fields, as a JSON array."""
