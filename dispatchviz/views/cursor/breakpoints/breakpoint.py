"""A breakpoint as a value, and the steps of a trace at which it stops.

Where columns tell these, they are looked up when somebody asks. Where events must be read, for the name of a Python
function or a condition, a ``Hunt`` has done that before, in slices; what it found is kept here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

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
"""What each stops at, as far as columns tell."""


@dataclass(frozen=True)
class Breakpoint:
    """One of them."""

    what: str
    """One of ``STEPS``."""
    value: str
    """Its name in the trace; of a line ``FILE:6``; of ``any step`` empty."""
    condition: tuple[Clause, ...] = ()
    ignored: int = 0
    """So many stops of the trace, from its beginning, it passes over: gdb's ``ignore``."""

    @property
    def place(self) -> tuple[str, str, tuple[Clause, ...]]:
        """All of it but how many stops it passes over."""
        return self.what, self.value, self.condition

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """What must hold of an event of those that the columns tell."""
        return (*((Clause("function", "==", self.value),) if self.what == FUNCTION else ()), *self.condition)

    def candidates(self, trace: Trace) -> Sequence[int]:
        """The steps at which it stops if its clauses hold."""
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
"""The stops of each place, those that are passed over too; looked up once."""


def all_steps(point: Breakpoint, trace: Trace) -> Sequence[int]:
    """The steps at which a breakpoint stops if it passes over none."""
    known = _known.setdefault(trace, {})
    if point.place not in known:
        candidates = point.candidates(trace)
        known[point.place] = array("i", holding(point, trace, candidates)) if point.clauses else candidates
    return known[point.place]


def holding(point: Breakpoint, trace: Trace, candidates: Iterable[int]) -> Iterable[int]:
    """Those of some steps of whose events all clauses hold."""
    clauses = point.clauses
    return (step for step in candidates if all(each.holds(value_of(trace, step, each.field)) for each in clauses))


def keep(point: Breakpoint, trace: Trace, steps: Sequence[int]) -> None:
    """Store what was found, so that nobody looks again."""
    _known.setdefault(trace, {})[point.place] = steps


def carry_over(points: Iterable[Breakpoint], before: Trace, after: Trace) -> None:
    """What was found in a trace is kept for one that has more events; only these are read."""
    for point in points:
        if point.clauses:
            candidates = point.candidates(after)
            more = holding(point, after, candidates[bisect_left(candidates, len(before)) :])
            keep(point, after, array("i", (*all_steps(point, before), *more)))
