"""A breakpoint as a value, and the steps of a trace at which it stops.

The columns of a trace answer most questions on demand. If events must be read, for the name of a Python function or for
a condition, a ``Hunt`` reads them beforehand in slices, and the result is stored here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from msgspec import Struct

from dispatchviz.core.record.events import BindingEntered
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.lookups import neighbor
from dispatchviz.views.cursor import named_steps
from dispatchviz.views.cursor.breakpoints.conditions import Clause, value_of

STEP, LINE, VARIABLE, NODE, OPERATOR, KEY, EVENT, FUNCTION, ANY = (
    "step", "line", "variable", "node", "operator", "key", "event", "function", "any step"
)  # fmt: skip


def _of_line(trace: Trace, value: str) -> Sequence[int]:
    file, _, line = value.rpartition(":")
    return named_steps.of_line(trace, file, int(line))


STEPS: Mapping[str, Callable[[Trace, str], Sequence[int]]] = {
    STEP: lambda trace, value: (int(value),) if int(value) < len(trace) else (),
    LINE: _of_line,
    VARIABLE: named_steps.of_variable,
    NODE: named_steps.of_node,
    OPERATOR: named_steps.of_operator,
    KEY: named_steps.of_key,
    EVENT: named_steps.of_kind,
    FUNCTION: lambda trace, value: trace.steps_of(BindingEntered),
    ANY: lambda trace, value: range(len(trace)),
}
"""Functions that find the stops of each kind of breakpoint, as far as columns have them."""


class Breakpoint(Struct, frozen=True):
    """A breakpoint."""

    what: str
    """The kind of place: a key of ``STEPS``."""
    value: str
    """The name of the place in the trace: ``FILE:6`` for a line, empty for ``any step``."""
    condition: tuple[Clause, ...] = ()
    ignored: int = 0
    """The number of stops to skip, counted from the beginning of the trace, like gdb's ``ignore``."""

    @property
    def place(self) -> tuple[str, str, tuple[Clause, ...]]:
        """Everything except the number of skipped stops."""
        return self.what, self.value, self.condition

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses that an event must satisfy beyond what the columns record."""
        return (*((Clause("function", "==", self.value),) if self.what == FUNCTION else ()), *self.condition)

    def candidates(self, trace: Trace) -> Sequence[int]:
        """The steps at which it stops if its clauses are satisfied."""
        return STEPS[self.what](trace, self.value)

    def steps(self, trace: Trace) -> Sequence[int]:
        """All steps at which to stop, in order."""
        return all_steps(self, trace)[self.ignored :]

    def next(self, trace: Trace, at: int, forward: bool = True) -> int | None:
        """The nearest step at which to stop, on one side of a step; None if there is none."""
        return neighbor(self.steps(trace), at, forward)

    def stops_between(self, trace: Trace, begin: int, end: int) -> bool:
        """Return whether it stops at one of some steps."""
        steps = self.steps(trace)
        place = bisect_left(steps, begin)
        return place < len(steps) and steps[place] <= end

    def __str__(self) -> str:
        name = self.value.rpartition("/")[2] if self.what == LINE else self.value
        place = "" if self.what == ANY else name if self.what == LINE else f"{self.what} {name}"
        condition = f"if {' and '.join(map(str, self.condition))}" if self.condition else ""
        return " ".join(filter(None, (place, condition, f"ignore {self.ignored}" if self.ignored else "")))


_known: WeakKeyDictionary[Trace, dict[object, Sequence[int]]] = WeakKeyDictionary()
"""The stops of each place, including the skipped ones. They are searched only once."""


def all_steps(point: Breakpoint, trace: Trace) -> Sequence[int]:
    """The steps at which a breakpoint stops if it skips none."""
    known = _known.setdefault(trace, {})
    if point.place not in known:
        candidates = point.candidates(trace)
        known[point.place] = array("i", holding(point, trace, candidates)) if point.clauses else candidates
    return known[point.place]


def holding(point: Breakpoint, trace: Trace, candidates: Iterable[int]) -> Iterable[int]:
    """Filter steps by the clauses of a breakpoint."""
    clauses = point.clauses
    return (step for step in candidates if all(each.holds(value_of(trace, step, each.field)) for each in clauses))


def keep(point: Breakpoint, trace: Trace, steps: Sequence[int]) -> None:
    """Store the stops that were found, so that they are not searched again."""
    _known.setdefault(trace, {})[point.place] = steps


def carry_over(points: Iterable[Breakpoint], before: Trace, after: Trace) -> None:
    """Carry the known stops over to a longer version of the trace. Only the new events are read."""
    for point in points:
        if point.clauses:
            candidates = point.candidates(after)
            more = holding(point, after, candidates[bisect_left(candidates, len(before)) :])
            keep(point, after, array("i", (*all_steps(point, before), *more)))
