"""The error that ended a program, and the call that raised it.

The model records where an error is raised (``ErrorRaised``). A recording of an installed PyTorch has only the error
that left the program (``ProgramRaised``): there the call that raised is the last one that never returned.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.words import line_of
from dispatchviz.explain.trace_index.enclosing_steps import around, at_or_around, source_line


class Failure(NamedTuple):
    """An error that left the program."""

    trace: Trace
    ended: ev.ProgramRaised
    raised: int
    """The step at which it was raised, as far as the recording knows."""

    @property
    def message(self) -> str:
        """PyTorch's message, whole."""
        return self.ended.message

    @property
    def call(self) -> ev.Dispatched | None:
        """The outermost call of an operator that raised it; None if no operator did."""
        calls = [event for event in self.inside if isinstance(event, ev.Dispatched)]
        return calls[-1] if calls else None

    @property
    def innermost(self) -> ev.Dispatched | None:
        """The innermost call of an operator that raised it."""
        return next((event for event in self.inside if isinstance(event, ev.Dispatched)), None)

    @property
    def node(self) -> ev.NodeStarted | None:
        """The Node that ran when it was raised."""
        found = next((event for event in self.inside if isinstance(event, ev.NodeStarted)), None)
        return self._last_node if found is None else found

    @property
    def _last_node(self) -> ev.NodeStarted | None:
        """The last Node of a pass that never finished, in a recording that does not tell when Nodes finish."""
        trace, begun = self.trace, self.trace.steps_of(ev.BackwardStarted)
        started, finished = trace.steps_of(ev.NodeStarted), trace.steps_of(ev.BackwardFinished)
        if not begun or not started or trace.steps_of(ev.NodeFinished) or (finished and finished[-1] > begun[-1]):
            return None
        last = trace[started[-1]]
        same = source_line(trace, begun[-1]) == self.line and last.seq > begun[-1]
        return last if isinstance(last, ev.NodeStarted) and same else None

    @property
    def inside(self) -> tuple[ev.AnyEvent, ...]:
        """The events that had begun and not ended, innermost first, up to the line of the program."""
        found = []
        for event in (self.trace[self.raised], *self.trace.ancestors(self.raised)):
            if isinstance(event, ev.SourceLine):
                break
            found.append(event)
        return tuple(found)

    @property
    def line(self) -> ev.SourceLine | None:
        """The line of the program that raised it."""
        return line_of(self.trace, self.raised)


def failure(trace: Trace) -> Failure | None:
    """The error that ended a program; None if none did, or if the user interrupted it."""
    last = trace[-1] if len(trace) else None
    if not isinstance(last, ev.ProgramRaised) or last.exception in ("KeyboardInterrupt", "SystemExit"):
        return None
    return Failure(trace, last, _raised(trace, last))


def _raised(trace: Trace, ended: ev.ProgramRaised) -> int:
    steps = trace.steps_of(ev.ErrorRaised)
    for step in reversed(steps[-8:]):
        event = trace[step]
        if isinstance(event, ev.ErrorRaised) and event.message == ended.message:
            return step
    return ended.seq if steps else _unreturned(trace, ended.seq)


def _unreturned(trace: Trace, end: int) -> int:
    """The last step within a call that never returned; the end if all returned."""
    last = end - 1
    if last < 0 or source_line(trace, last) != line_of(trace, end):
        return end
    call = at_or_around(trace, last, ev.Dispatched)
    if call is None:
        return last if _runs(trace, last, end) else end
    outermost = [event for event in (trace[last], *trace.ancestors(last)) if isinstance(event, ev.Dispatched)][-1]
    returned = trace.steps_of(ev.KernelReturned)
    after = returned[bisect_left(returned, outermost.seq) :]
    back = any(trace.columns.parents[step] == outermost.seq for step in after)
    return end if back else last


def _runs(trace: Trace, last: int, end: int) -> bool:
    """Whether the last step is of a Node, in a pass that had not finished at the end."""
    if at_or_around(trace, last, ev.NodeStarted) is None:
        return False
    finished = trace.steps_of(ev.BackwardFinished)
    begun = around(trace, last, ev.BackwardStarted)
    return begun is not None and bisect_left(finished, begun.seq) == bisect_left(finished, end)
