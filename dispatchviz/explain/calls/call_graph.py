"""The forward calls of a trace as a value: which operator calls which, from line to kernel, with equal calls merged.

A call and the redispatches of its kernels are one ``Call`` with a hop for each key. Other calls of a kernel, such as a
composite kernel makes, belong to its hop. The engine's calls are left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE
from dispatchviz.explain.trace_index.enclosing_steps import source_text, within
from dispatchviz.explain.trace_index.folded_steps import profiler_calls


@dataclass(frozen=True, slots=True)
class Hop:
    """A key that a call is dispatched to, and its kernel."""

    how: str
    """``call``, ``redispatch``, ``callBoxed`` and so on."""
    key: str
    kernel: str
    calls: tuple[Counted, ...]
    """The calls of the kernel, in order."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operator."""

    operator: str
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """A call, and how often it is made in the same way."""

    call: Call
    times: int
    step: int = field(compare=False)
    """The step of the first call."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the program, with its calls."""

    file: str
    line: int
    """The line number; 0 outside the program."""
    text: str
    step: int
    calls: tuple[Counted, ...]


@dataclass(frozen=True, slots=True)
class CallGraph:
    """Some lines, in the order of their first calls."""

    lines: tuple[Line, ...]
    left_out: int
    """The number of outermost calls that were not read."""


MOST = 20_000
"""The number of calls that are read."""


def call_graph(trace: Trace, first: int = 0, last: int | None = None) -> CallGraph:
    """The calls that begin at some steps, outside backward passes."""
    work = _Calls(trace, first, len(trace) - 1 if last is None else last)
    return CallGraph(tuple(work.lines()), work.left_out)


class _Calls:
    def __init__(self, trace: Trace, first: int, last: int) -> None:
        self._trace, self._columns = trace, trace.columns
        steps = trace.steps_of(ev.Dispatched)
        found = steps[bisect_left(steps, first) : bisect_right(steps, last)]
        self._dispatched = trace.columns.code(ev.Dispatched)
        self._backward = trace.columns.code(ev.BackwardStarted)
        self._children: dict[int, list[int]] = {}
        """The steps directly within each Dispatched; those within none are under NONE."""
        self.left_out = 0
        profilers = frozenset(profiler_calls(trace))
        for step in found[:MOST]:
            around = self._around(step)
            if around is not None and step not in profilers:
                self._children.setdefault(around if around >= first else NONE, []).append(step)
        self.left_out = max(len(found) - MOST, 0)

    def _around(self, step: int) -> int | None:
        """The innermost Dispatched around a step; None within a backward pass."""
        inner = NONE
        for at in self._columns.ancestors(step):
            if self._columns.kinds[at] == self._backward:
                return None
            if self._columns.kinds[at] == self._dispatched and inner == NONE:
                inner = at
        return inner

    def lines(self) -> Iterator[Line]:
        """Yield each line once, with the calls of all its runs."""
        outer: dict[tuple[str, int], tuple[ev.SourceLine | None, list[int]]] = {}
        for step in self._children.get(NONE, ()):
            known = self._columns.lines[step]
            line = self._trace[known] if known >= 0 else None
            place = line if isinstance(line, ev.SourceLine) else None
            key = (place.file, place.line) if place else ("", 0)
            outer.setdefault(key, (place, []))[1].append(step)
        for (file, number), (place, steps) in outer.items():
            text = source_text(self._trace, place) if place else ""
            yield Line(file, number, text, place.seq if place else steps[0], self._counted(steps))

    def _counted(self, steps: list[int]) -> tuple[Counted, ...]:
        """Merge equal calls, in the order of their first ones."""
        found: dict[Call, list[int]] = {}
        for step in steps:
            found.setdefault(self._call(step), []).append(step)
        return tuple(Counted(call, len(same), same[0]) for call, same in found.items())

    def _call(self, step: int) -> Call:
        event = self._trace[step]
        hops, at = list[Hop](), event if isinstance(event, ev.Dispatched) else None
        while at is not None:
            inside = self._children.get(at.seq, [])
            further = next((child for child in inside if self._passes_on(child, at.operator)), None)
            chosen = within(self._trace, at.seq, ev.KernelSelected)
            others = [child for child in inside if child != further]
            hops.append(Hop(at.how, at.key, chosen.kernel if chosen else "", self._counted(others)))
            onward = None if further is None else self._trace[further]
            at = onward if isinstance(onward, ev.Dispatched) else None
        return Call(event.operator if isinstance(event, ev.Dispatched) else "", tuple(hops))

    def _passes_on(self, step: int, operator: str) -> bool:
        event = self._trace[step]
        return isinstance(event, ev.Dispatched) and event.operator == operator and event.is_redispatch
