"""The error that ended a program, and the call that raised it.

The model records where an error is raised (``ErrorRaised``). A recording of an installed PyTorch has only the error
that left the program (``ProgramRaised``): there the call that raised is the last one that never returned.
"""

from __future__ import annotations

from bisect import bisect_left
from traceback import format_exception
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.words import line_of
from dispatchviz.explain.trace_index.enclosing_steps import around, at_or_around, source_line


class Failure(NamedTuple):
    """An error that left the program."""

    trace: Trace
    exception: str
    """The name of its class: ``RuntimeError``."""
    message: str
    """PyTorch's complete message."""
    raised: int
    """The step at which it was raised, as far as the recording shows it."""
    traceback: str = ""
    """Python's traceback."""
    file: str = ""
    """The program's own file in which it was raised, as in the header's ``sources``; empty if unknown."""
    number: int = 0
    """The number of the program's own line in that file; 0 if unknown."""

    @property
    def call(self) -> ev.Dispatched | None:
        """The outermost call of an operator that raised it, or None if no operator did."""
        calls = [event for event in self.inside if isinstance(event, ev.Dispatched)]
        return calls[-1] if calls else None

    @property
    def innermost(self) -> ev.Dispatched | None:
        """The innermost call of an operator that raised it."""
        return next((event for event in self.inside if isinstance(event, ev.Dispatched)), None)

    @property
    def node(self) -> ev.NodeStarted | None:
        """The Node that was running when it was raised."""
        found = next((event for event in self.inside if isinstance(event, ev.NodeStarted)), None)
        return self._last_node if found is None else found

    @property
    def _last_node(self) -> ev.NodeStarted | None:
        """The last Node of a pass that never finished, in a recording without the ends of Nodes."""
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
    """Return the error that ended a program, or None if there was none or if the user interrupted it."""
    last = trace[-1] if len(trace) else None
    if not isinstance(last, ev.ProgramRaised) or last.exception in ("KeyboardInterrupt", "SystemExit"):
        return None
    raised = _raised(trace, last.exception, last.message, last.seq)
    return Failure(trace, last.exception, last.message, raised, last.traceback, last.file, last.line)


def failure_of(trace: Trace, error: BaseException) -> Failure | None:
    """Return an error that left a recorded block of a program, such as a test; None for an empty trace."""
    if not len(trace):
        return None
    name, message = type(error).__name__, str(error)
    return Failure(trace, name, message, _raised(trace, name, message, len(trace)), "".join(format_exception(error)))


def _raised(trace: Trace, exception: str, message: str, end: int) -> int:
    """Return the step at which the error was raised that ended a program or recording before a step.

    At the end of the stack there are several messages, one after the other.
    """
    steps = trace.steps_of(ev.ErrorRaised)
    for step in reversed(steps[-8:]):
        event = trace[step]
        if not isinstance(event, ev.ErrorRaised) or event.exception != exception:
            continue
        if event.message == message or exception == "RecursionError":
            return step
    last = min(end, len(trace) - 1)
    return last if steps else _unreturned(trace, end, last)


def _unreturned(trace: Trace, end: int, ended: int) -> int:
    """Return the last step within a call that never returned, or ``ended`` if all calls returned."""
    if end < 1:
        return ended
    last = _before_the_guards_ended(trace, end - 1)
    calls = [event for event in (trace[last], *trace.ancestors(last)) if isinstance(event, ev.Dispatched)]
    if calls:
        return ended if has_returned(trace, calls[-1]) else last
    is_same_line = source_line(trace, last) == line_of(trace, ended)
    return last if is_same_line and _runs(trace, last, end) else ended


def _before_the_guards_ended(trace: Trace, last: int) -> int:
    """Return the step before the guards at the end, if an error that left an inner call ended them; else ``last``."""
    before = last
    while before and isinstance(trace[before], ev.GuardLeft):
        before -= 1
    call = at_or_around(trace, before, ev.Dispatched)
    return last if call is None or has_returned(trace, call) else before


def has_returned(trace: Trace, call: ev.Dispatched) -> bool:
    """Return whether the kernel of a call returned, which is the last event of a call that does."""
    last = trace[trace.ends[call.seq]]
    kernel = trace[last.parent] if isinstance(last, ev.KernelReturned) and last.parent is not None else None
    return kernel is not None and kernel.parent == call.seq


def _runs(trace: Trace, last: int, end: int) -> bool:
    """Return whether the last step belongs to a Node of a pass that had not finished at the end."""
    if at_or_around(trace, last, ev.NodeStarted) is None:
        return False
    finished = trace.steps_of(ev.BackwardFinished)
    begun = around(trace, last, ev.BackwardStarted)
    return begun is not None and bisect_left(finished, begun.seq) == bisect_left(finished, end)
