"""The search for the stops of a breakpoint by reading events in slices. If there are none, it reports the reason."""

from __future__ import annotations

import difflib
from array import array
from bisect import bisect_left

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.cursor.breakpoints.breakpoint import ANY, FUNCTION, Breakpoint, keep
from dispatchviz.views.cursor.breakpoints.conditions import MISSING, Clause, shown_value, value_of
from dispatchviz.views.cursor.typed_text import repeated

SLICE = 1_000
"""The number of steps per slice. Keys are handled between slices, every few milliseconds."""

SEEN = 500
"""The maximum number of values of a field to remember for error messages."""

MOST = 6
"""The maximum number of values to name in a message."""

LIKE = 0.6
"""The similarity from which on one name is suggested for another."""


class Hunt:
    """A search through the events at which a breakpoint may stop."""

    def __init__(self, point: Breakpoint, trace: Trace) -> None:
        self._point, self._trace = point, trace
        self._candidates = point.candidates(trace)
        self._read = 0
        self._found = array("i")
        self._passed = [0] * len(point.clauses)
        """For each clause, the number of steps that satisfy it and all clauses before it."""
        self._values: list[dict[object, None]] = [{} for _ in point.clauses]
        """For each clause, the values of its field at steps that satisfy all clauses before it."""

    def go_on(self) -> bool:
        """Read a slice and return whether there is more to read. The result is stored when everything is read."""
        steps, begin = self._candidates, self._read
        if begin < len(steps):
            self._read = bisect_left(steps, steps[begin] + SLICE, begin)
            self._found.extend(step for step in steps[begin : self._read] if self._holds(step))
        if self._read < len(steps):
            return True
        keep(self._point, self._trace, self._found)
        return False

    def _holds(self, step: int) -> bool:
        for at, clause in enumerate(self._point.clauses):
            value = value_of(self._trace, step, clause.field)
            if value is not MISSING and len(self._values[at]) < SEEN:
                self._values[at][value] = None
            if not clause.holds(value):
                return False
            self._passed[at] += 1
        return True

    @property
    def percent(self) -> int:
        """The percentage that has been read."""
        return 100 * self._read // max(len(self._candidates), 1)

    def why_none(self) -> str:
        """The first clause that no step satisfies together with those before it, and the values of its field
        instead.
        """
        clauses = self._point.clauses
        at = next((at for at, passed in enumerate(self._passed) if not passed), 0)
        clause, values = clauses[at], list(self._values[at])
        if self._point.what == FUNCTION and at == 0:
            return f"The program calls no Python function {repeated(clause.value)}. {_instead(clause, values)}"
        where = self._where(clauses[:at])
        return f"{where} has {repeated(str(clause))}. Values of {clause.field}: {_listed(clause, values)}"

    def _where(self, before: tuple[Clause, ...]) -> str:
        point = self._point
        own = before[1:] if point.what == FUNCTION else before
        place = "step" if point.what == ANY else f"stop at {Breakpoint(point.what, point.value)}"
        return f"No {place}{' with ' if own else ''}{' and '.join(map(str, own))}"


def _instead(clause: Clause, values: list[object]) -> str:
    near = difflib.get_close_matches(clause.value, [str(value) for value in values], MOST // 2, LIKE)
    return f"Near: {', '.join(near)}" if near else f"Functions: {_listed(clause, values)}"


def _listed(clause: Clause, values: list[object]) -> str:
    """The existing values: the range of numbers, or other values with the most similar first."""
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if numbers and len(numbers) == len(values):
        return f"{min(numbers)} to {max(numbers)}" if len(numbers) > MOST else ", ".join(map(str, sorted(numbers)))
    texts = list(dict.fromkeys(shown_value(value) for value in values))
    near = difflib.get_close_matches(clause.value, texts, MOST, LIKE)
    names = list(dict.fromkeys((*near, *texts)))
    return f"{', '.join(map(repeated, names[:MOST]))}{', ...' if len(names) > MOST else ''}" if names else "nothing"
