"""Steps of a trace, found by their kind: a step number in a test would change with every event that is added.

A kind of event or a pattern of ``dispatchviz.testing`` selects a step::

    step(trace, ev.NodeStarted, 1)  # the second Node that runs
    step(trace, call("aten::add.Tensor", "AutogradCUDA"))
    step(trace, ev.KernelSelected, within=step(trace, redispatch("aten::add.Tensor")))

Step 0 and ``last_step`` need no search: they are the ends of any trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record.events import Event, SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing import Pattern, event
from dispatchviz.views.cursor.step_search import Search

What = type[Event] | Pattern


def steps(trace: Trace, what: What, within: int | None = None) -> list[int]:
    """Return all steps of a kind or pattern, in order; with ``within`` only that step and those inside it."""
    pattern = what if isinstance(what, Pattern) else event(what)
    part = range(len(trace)) if within is None else inside(trace, within)
    return [at for at in part if pattern.matches(trace[at])]


def step(trace: Trace, what: What, nth: int = 0, within: int | None = None, after: int = -1) -> int:
    """Return the nth match, counted after step ``after`` if given. Raise AssertionError if there are fewer."""
    found = [at for at in steps(trace, what, within) if at > after]
    assert -len(found) <= nth < len(found), f"{what!r} happens {len(found)} times, number {nth} is asked for"
    return found[nth]


def line(trace: Trace, number: int) -> int:
    """Return the first step of a line of the program."""
    return step(trace, event(SourceLine, line=number))


def inside(trace: Trace, at: int) -> range:
    """Return a step and all those that happen within it."""
    return range(at, trace.ends[at] + 1)


def last_step(trace: Trace) -> int:
    """Return the last step of a trace."""
    return len(trace) - 1


def all_hits(trace: Trace, query: str) -> Sequence[int]:
    """Return all steps that match a query, at once."""
    search = Search(trace)
    search.find(query)
    while search.go_on():
        pass
    return search.hits()
