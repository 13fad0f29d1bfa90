"""Panes that are empty at a step, with the step at which they will not be. An empty pane shrinks to a title with this
text.

This is computed for every pane at every step before the layout, so each answer is a bisection or a walk outwards.
"""

from __future__ import annotations

from collections.abc import Callable

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import Event
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.explain.calls.structured_call import structured_call
from dispatchviz.explain.graph.compiled.running_graph import shown_graph
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around
from dispatchviz.explain.trace_index.lookups import neighbor
from dispatchviz.explain.trace_index.recorded_engine import is_live, is_unseen
from dispatchviz.explain.trace_index.thread_state import thread_state
from dispatchviz.views.layout.pane_layout import (
    CALLS,
    CELL,
    COMPILER,
    ENGINE,
    GRAPH,
    KEYS,
    MEMORY,
    NODE,
    OUTPUT,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
)
from dispatchviz.views.text.styled_line import Line, line


def nothing(pane: int, trace: Trace, at: int) -> Line | None:
    """The text in the title of an empty pane; None if the pane has something to show."""
    asked = EMPTY.get(pane)
    return None if asked is None else asked(trace, at)


def _no_dispatch(trace: Trace, at: int) -> Line | None:
    if at_or_around(trace, at, ev.Dispatched) is not None:
        return None
    return _next(trace, at, ev.Dispatched, "no dispatch here")


def _no_call(trace: Trace, at: int) -> Line | None:
    event = trace[at]
    if not isinstance(event, ev.SourceLine) or len(call_stack(trace, at)) > 1:
        return None
    return _next(trace, at, ev.Dispatched, "no call here")


def _no_graph(trace: Trace, at: int) -> Line | None:
    return None if _happened(trace, at, ev.NodeCreated) else _next(trace, at, ev.NodeCreated, "none yet")


def _no_node(trace: Trace, at: int) -> Line | None:
    from dispatchviz.explain.graph.node.node_of_step import has_node  # needed only with the pane

    return None if has_node(trace, at) else _next(trace, at, ev.NodeCreated, "no Node here")


def _nothing_saved(trace: Trace, at: int) -> Line | None:
    return None if _happened(trace, at, ev.VariableSaved) else _next(trace, at, ev.VariableSaved, "nothing saved yet")


def _no_backward(trace: Trace, at: int) -> Line | None:
    if at_or_around(trace, at, ev.BackwardStarted) is not None:
        return None
    return _next(trace, at, ev.BackwardStarted, "no backward here")


def _no_output(trace: Trace, at: int) -> Line | None:
    return None if _happened(trace, at, ev.Printed) else _next(trace, at, ev.Printed, "nothing printed yet")


def _no_tensor(trace: Trace, at: int) -> Line | None:
    return None if _happened(trace, at, ev.TensorCreated) else _next(trace, at, ev.TensorCreated, "none yet")


def _not_structured(trace: Trace, at: int) -> Line | None:
    if is_unseen(trace.header, ev.MetaEntered):
        return line(("not seen in a release build", "dim"))
    if structured_call(trace, at) is not None:
        return None
    return _next(trace, at, ev.MetaEntered, "no structured kernel here")


def _not_compiled(trace: Trace, at: int) -> Line | None:
    if len(trace.steps_of(ev.GraphCaptured)) > 0 and shown_graph(trace, at) is not None:
        return None
    return _next(trace, at, ev.GraphCaptured, "no compiled code here")


def _plain_thread(trace: Trace, at: int) -> Line | None:
    if not thread_state(trace, at).is_plain:
        return None
    if is_live(trace.header):
        return line(("no guards derived; switches not seen", "dim"))
    return line(("grad mode on, no guards, no modes", "dim"))


def _happened(trace: Trace, at: int, kind: type[ev.Event]) -> bool:
    steps = trace.steps_of(kind)
    return len(steps) > 0 and steps[0] <= at


NONE_LATER_HERE, NONE_LATER = ", none later", ", and none later."
"""The ends of texts in titles and in panes. They say something about all later steps."""


def _next(trace: Trace, at: int, kind: type[ev.Event], what: str) -> Line:
    step = next_step(trace, at, kind)
    if step is None:
        return line((f"{what}{NONE_LATER_HERE}", "dim"))
    return line((f"{what}, next at step ", "dim"), (str(step), "keycap"), goto=step)


EMPTY: dict[int, Callable[[Trace, int], Line | None]] = {
    KEYS: _no_dispatch,
    CELL: _no_dispatch,
    CALLS: _no_call,
    TABLE: _no_dispatch,
    GRAPH: _no_graph,
    NODE: _no_node,
    ENGINE: _no_backward,
    OUTPUT: _no_output,
    TENSORS: _no_tensor,
    STRUCTURED: _not_structured,
    THREAD: _plain_thread,
    COMPILER: _not_compiled,
    MEMORY: _nothing_saved,
}
"""The functions for panes that may be empty; the other panes never are."""


def next_step(trace: Trace, at: int, kind: type[Event]) -> int | None:
    """The first step of a kind after this one."""
    return neighbor(trace.steps_of(kind), at)


def not_yet(trace: Trace, at: int, kind: type[Event], what: str) -> Line:
    """The text ``what`` with the step at which that changes. A click goes there."""
    step = next_step(trace, at, kind)
    if step is None:
        return line((f"{what}{NONE_LATER}", "dim"))
    return line((f"{what}. The next one is at step ", "dim"), (str(step), "keycap"), (".", "dim"), goto=step)
