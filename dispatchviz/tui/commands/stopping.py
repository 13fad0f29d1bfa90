"""Setting and removing breakpoints. If their stops require reading events, that is done in slices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from msgspec.structs import replace

from dispatchviz.views.cursor.breakpoints.breakpoint import Breakpoint
from dispatchviz.views.cursor.breakpoints.hunt import Hunt
from dispatchviz.views.cursor.breakpoints.typed_breakpoints import passes_over_all, typed
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import key_of
from dispatchviz.views.replies import NO_BREAKPOINTS, breakpoint_set, breakpoints_key, no_longer_stops
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import line


def toggle(cursor: Cursor, text: str) -> Update:
    """Set the breakpoint that a text describes, or remove it if it is set."""
    point = typed(text, cursor.trace, cursor.is_growing)
    if isinstance(point, str):
        return Update(cursor, line((f" {point}", "warning")))
    if point in cursor.breakpoints:
        return Update(removed(cursor, point), line((no_longer_stops(str(point)), "hint")))
    return _hunted(cursor, point, Hunt(point, cursor.trace)) if point.clauses else _set(cursor, point)


def removed(cursor: Cursor, point: Breakpoint) -> Cursor:
    """Remove a breakpoint."""
    return replace(cursor, breakpoints=tuple(each for each in cursor.breakpoints if each != point))


def _hunted(cursor: Cursor, point: Breakpoint, hunt: Hunt) -> Update:
    """Set the breakpoint after all events that it may stop at were read. Until then, show the progress."""
    if hunt.go_on():
        note = f" Looking for the stops at {point}: {hunt.percent} %"
        return Update(cursor, line((note, "hint")), goes_on=lambda: _hunted(cursor, point, hunt))
    if cursor.is_growing:
        return _set(cursor, point)
    stops = len(replace(point, ignored=0).steps(cursor.trace))
    wrong = passes_over_all(point, stops) if stops else hunt.why_none()
    return Update(cursor, line((f" {wrong}", "warning"))) if wrong else _set(cursor, point)


def _set(cursor: Cursor, point: Breakpoint) -> Update:
    others = tuple(each for each in cursor.breakpoints if each.place != point.place)
    stops = visible_stops(cursor, point)
    first = str(stops[0]) if stops else ""
    keys = f"  {_way(cursor, point)}, {breakpoints_key()}"
    note = line((breakpoint_set(str(point), counted(len(stops)), first), "hint"), (keys, "dim"))
    return Update(replace(cursor, breakpoints=(*others, point)), note)


def visible_stops(cursor: Cursor, point: Breakpoint) -> Sequence[int]:
    """The stops of a breakpoint before the next question."""
    stops = point.steps(cursor.trace)
    return stops if cursor.ahead is None else stops[: bisect_left(stops, cursor.ahead.first_hidden)]


def _way(cursor: Cursor, point: Breakpoint) -> str:
    """The text with the key that goes to a stop from here."""
    stops = visible_stops(cursor, point)
    back = bool(stops) and point.next(cursor.trace, cursor.at) is None
    key = key_of("move('resume_back')" if back else "move('resume')").first
    return f"{key} goes to the {'previous' if back else 'next'} one"


def counted(stops: int) -> str:
    """``1 stop``, ``12 stops``."""
    return f"{stops:,} {'stop' if stops == 1 else 'stops'}"


def stops_note(breakpoints: Sequence[Breakpoint]) -> str:
    """The note on the stops of ``continue``."""
    if not breakpoints:
        return NO_BREAKPOINTS
    resume = key_of("move('resume')").first
    return f" {resume} stops at {', '.join(map(str, breakpoints))}"
