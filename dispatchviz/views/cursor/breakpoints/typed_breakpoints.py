"""The syntax of a breakpoint: ``PLACE [if CONDITION] [ignore N]``.

A place is a step's number, ``line 6`` or ``forum.py:6``, ``variable z``, ``node AddBackward0``, ``operator add``, ``key
CUDA``, ``event NodeCreated`` or ``torch.add``. Without the first word, it is anything in the trace with that name.
``if`` alone stops at any step. ``ignore N`` skips the first N stops of the trace.

Elsewhere: the places (``typed_places.py``), the conditions (``conditions.py``).
"""

from __future__ import annotations

import difflib
import re

from msgspec.structs import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.english import listed
from dispatchviz.views.cursor.breakpoints.breakpoint import (
    ANY,
    FUNCTION,
    KEY,
    LINE,
    NODE,
    OPERATOR,
    VARIABLE,
    Breakpoint,
)
from dispatchviz.views.cursor.breakpoints.conditions import OF_EVERY_STEP, clauses_of, fields_of
from dispatchviz.views.cursor.breakpoints.hunt import LIKE
from dispatchviz.views.cursor.breakpoints.typed_places import KINDS, place_named
from dispatchviz.views.cursor.typed_text import repeated, whole_number

TYPED = re.compile(
    r"(?P<place>.*?)(?:(?:^|\s+)if\s+(?P<condition>.*?))?(?:\s+ignore\s+(?P<ignored>[0-9]+))?", re.DOTALL
)


def breakpoint_named(text: str, trace: Trace, growing: bool = False) -> Breakpoint | None:
    """Parse a breakpoint. Return None if it can never stop. If it has clauses, only a ``Hunt`` finds out whether it
    stops.
    """
    found = typed(text, trace, growing)
    return found if isinstance(found, Breakpoint) else None


def refusal(text: str, trace: Trace) -> str:
    """The reason why a text is not a breakpoint of a trace, with suggestions; empty if it is one."""
    found = typed(text, trace)
    return found if isinstance(found, str) else ""


def typed(text: str, trace: Trace, growing: bool = False) -> Breakpoint | str:
    """Return the breakpoint that a text describes, or the reason why it is not one."""
    parts = TYPED.fullmatch(text.strip())
    if parts is None:
        return f"{repeated(text)} is not a place to stop at"
    place = parts["place"].strip()
    found = Breakpoint(ANY, "") if not place and parts["condition"] else place_named(place, trace, growing)
    if isinstance(found, str):
        return found
    if parts["condition"] is not None:
        conditional = _conditional(found, parts["condition"], trace)
        if isinstance(conditional, str):
            return conditional
        found = conditional
    return _counted(replace(found, ignored=whole_number(parts["ignored"] or "0")), trace, growing)


def _counted(point: Breakpoint, trace: Trace, growing: bool) -> Breakpoint | str:
    """Return the breakpoint, or an error if it skips all of its stops. With clauses, the stops are not known yet."""
    return point if growing or point.clauses else passes_over_all(point, len(point.candidates(trace))) or point


def passes_over_all(point: Breakpoint, stops: int) -> str:
    """The error for a breakpoint that skips all of its stops; empty if it does not."""
    if point.ignored < stops or not point.ignored:
        return ""
    there = f"{replace(point, ignored=0)} has {stops} {'stop' if stops == 1 else 'stops'}"
    return f"{there}, so ignore {point.ignored} leaves none"


# -- conditions --------------------------------------------------------------------------------------------------------


def _conditional(point: Breakpoint, text: str, trace: Trace) -> Breakpoint | str:
    clauses = clauses_of(text)
    if isinstance(clauses, str):
        syntax = "Write FIELD == VALUE, with == != < <= > >=, and join several with and"
        return f"{repeated(clauses)!r} is not a condition. {syntax}"
    kinds = _kinds_of(point, trace)
    fields = fields_of(kinds)
    unknown = next((each.field for each in clauses if each.field not in (*fields, *OF_EVERY_STEP)), None)
    if unknown is None:
        return replace(point, condition=clauses)
    if point.what == ANY:
        near = difflib.get_close_matches(unknown, fields, 3, LIKE)
        return f"No event has the field {repeated(unknown)}" + (f". Near: {', '.join(near)}" if near else "")
    own = f"{listed(sorted(kinds), 'or')} has no field {repeated(unknown)}"
    return f"{own}. Its fields: {', '.join(fields)}; every step also has {', '.join(OF_EVERY_STEP)}"


def _kinds_of(point: Breakpoint, trace: Trace) -> set[str]:
    """The kinds of the events at which a breakpoint may stop."""
    match point.what:
        case "event":
            return {point.value}
        case "any step":
            return set(KINDS.values())
        case "step":
            return {type(trace[int(point.value)]).__name__} if int(point.value) < len(trace) else set(KINDS.values())
    return STOPPED_AT[point.what]


STOPPED_AT = {
    LINE: {"SourceLine"},
    VARIABLE: {"NameBound", "VersionBumped"},
    NODE: {"NodeCreated", "NodeStarted"},
    OPERATOR: {"Dispatched"},
    KEY: {"Dispatched"},
    FUNCTION: {"BindingEntered"},
}
