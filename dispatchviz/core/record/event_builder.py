"""The EventBuilder: from the notes of a recorder to the events of a trace, that is nesting, numbers of events, and
everything that follows from a note by rule.

Notes are read when events are first accessed, and whenever an operator's registrations are about to change, since
what an event has of a cell holds for the moment of the call.
"""

from __future__ import annotations

from dispatchviz.core.record.builders.autograd_builder import AutogradBuilder
from dispatchviz.core.record.builders.call_builder import CallBuilder


class EventBuilder(CallBuilder, AutogradBuilder):
    """Builds all kinds of events; every note is the name of one of its methods and the arguments of that."""
