"""The way from a backward step to the forward call that made its Node, and from a call to the run of its Node."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.things.calls_around import plain
from dispatchviz.explain.trace_index import statements
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, listed

CALLS = (ev.Dispatched, ev.FunctionEntered, ev.BindingEntered, ev.SourceLine)
"""The kinds of events that can have made a Node, from the innermost to the outermost, which is a line."""

REASONS_LOOKED_AT = 200
"""The number of kernels within a call without a Node that are read for the reason."""

MOST_NODES = 64
"""The number of Nodes made on a line that are searched for their runs."""

AUTOGRAD_KERNELS = ("VariableType", "autogradNotImplemented", "torch::autograd")
"""The beginnings of the names of autograd kernels."""

E = TypeVar("E", bound=ev.Event)


class Crossing(Struct, frozen=True):
    """The step on the other side."""

    seq: int | None
    """The step, or None if there is none."""
    text: str
    """The text about that step, or the reason why there is none."""


def crossing(trace: Trace, at: int) -> Crossing:
    """Return the forward call for a step in a backward pass, or the run of the Node for any other step."""
    at = where_raised(trace, at)
    node = backward_node(trace, at)
    if node is None and not nodes_of(trace, at):
        node = root_within(trace, at)
    return to_backward(trace, at) if node is None else to_forward(trace, node, at)


def where_raised(trace: Trace, at: int) -> int:
    """Return the step at which an error began, for the end of a program that raised it; any other step itself."""
    errors = trace.steps_of(ev.ErrorRaised) if isinstance(trace[at], ev.ProgramRaised) else ()
    return errors[-1] if errors else at


def backward_node(trace: Trace, at: int) -> int | None:
    """Return the Node that the engine handles at a step: the running one, else that of the event, else the root. None
    outside backward passes.
    """
    started = at_or_around(trace, at, ev.NodeStarted)
    backward = at_or_around(trace, at, ev.BackwardStarted)
    if backward is None or (started is not None and started.seq > backward.seq):
        return None if started is None else started.node
    of_event = trace.columns.nodes[at]
    return of_event if of_event >= 0 else next((node for node, _ in backward.roots), None)


def root_within(trace: Trace, at: int) -> int | None:
    """Return the root of the first backward pass that starts in a line, or in the function that it calls."""
    if not isinstance(trace[at], ev.SourceLine | ev.BindingEntered):
        return None
    steps = trace.steps_of(ev.BackwardStarted)
    place = bisect_left(steps, at)
    started = trace[steps[place]] if place < len(steps) and steps[place] <= statements.end(trace, at) else None
    return next((node for node, _ in started.roots), None) if isinstance(started, ev.BackwardStarted) else None


def to_forward(trace: Trace, node: int, at: int) -> Crossing:
    """Return the innermost call that made a Node."""
    title, made = node_title(trace, node, at), index(trace).nodes.get(node)
    if made is None:
        return Crossing(None, f"The recording does not show which call made {title}")
    if made.known:
        return Crossing(None, f"{title} was made before the recording began")
    call = maker_of(trace, made)
    return Crossing(call.seq, f"{_called(call)} made {title}")


def maker_of(trace: Trace, made: ev.NodeCreated) -> ev.AnyEvent:
    """Return the call that made a Node, if there is one: else its line, or the event itself."""
    entered = index(trace).functions.get(made.node)
    if entered is not None:
        return trace[entered]
    kinds, codes = trace.columns.kinds, set(map(trace.columns.code, CALLS))
    around = (trace[step] for step in trace.columns.ancestors(made.seq) if kinds[step] in codes)
    return next((event for event in around if isinstance(event, CALLS)), made)  # false if the file is damaged there


def _called(event: ev.AnyEvent) -> str:
    if isinstance(event, ev.Dispatched):
        return plain(event)
    if isinstance(event, ev.SourceLine):
        return f"Line {event.line}"
    return event.function if isinstance(event, ev.FunctionEntered | ev.BindingEntered) else "This step"


# -- from forward ----------------------------------------------------------------------------------------------------


def to_backward(trace: Trace, at: int) -> Crossing:
    """Return the next run of the Node of a step, or of the Node that the call around the step made."""
    nodes = nodes_of(trace, at)
    if not nodes:
        return Crossing(None, why_none(trace, at))
    runs = [(step, node) for node in nodes if (step := run_of(trace, node, at)) is not None]
    if not runs:
        made = node_title(trace, nodes[-1], at)
        return Crossing(None, f"{made} does not run in this recording: no backward pass reaches it")
    step, node = min(runs)
    others = f", the first of {counted(len(nodes), 'Node')} made here" if 1 < len(nodes) < MOST_NODES else ""
    times = len(_runs(trace, node))
    again = f", one of {times} times" if times > 1 else ""
    return Crossing(step, f"{node_title(trace, node, at)} runs{again}{others}")


def nodes_of(trace: Trace, at: int) -> list[int]:
    """Return the Node of a step, or else the Nodes made by the nearest call around it that made any."""
    if (own := trace.columns.nodes[at]) >= 0:
        return [own]
    return next((made for call in calls_of(trace, at) if (made := made_by(trace, call))), [])


def calls_of(trace: Trace, at: int) -> list[ev.AnyEvent]:
    """Return the calls that a step is or is in, innermost first: without a call the binding, without a binding the
    line.
    """
    events: list[ev.AnyEvent] = [event for event in (trace[at], *trace.ancestors(at)) if isinstance(event, CALLS)]
    calls: list[ev.AnyEvent] = [event for event in events if isinstance(event, ev.Dispatched | ev.FunctionEntered)]
    return calls or events[:1]


def made_by(trace: Trace, call: ev.AnyEvent) -> list[int]:
    """Return the Nodes that a call made. AccumulateGrads are included only if there are no other Nodes."""
    if isinstance(call, ev.FunctionEntered):
        return [call.node] if call.recorded else []
    made = made_within(trace, call.seq)
    return [node for node in made if node not in index(trace).accumulators] or made


def made_within(trace: Trace, seq: int) -> list[int]:
    """Return the Nodes made within a step, in order. Of many Nodes only the last ones, which run first."""
    steps = trace.steps_of(ev.NodeCreated)
    inside: Sequence[int] = steps[bisect_left(steps, seq) : bisect_right(steps, statements.end(trace, seq))]
    events = (trace[step] for step in inside[-MOST_NODES:])
    return [event.node for event in events if isinstance(event, ev.NodeCreated) and not event.known]


def run_of(trace: Trace, node: int, at: int) -> int | None:
    """Return the next step at which a Node runs, or else the last one; None if it never runs."""
    runs = _runs(trace, node)
    later = runs[bisect_right(runs, at) :]
    return later[0] if later else runs[-1] if runs else None


def _runs(trace: Trace, node: int) -> list[int]:
    kinds, code = trace.columns.kinds, trace.columns.code(ev.NodeStarted)
    return [step for step in history(trace).events.steps(node) if kinds[step] == code]


def why_none(trace: Trace, at: int) -> str:
    """Return the reason why the call around a step made no Node."""
    calls = calls_of(trace, at)
    if not calls:
        return "No Node belongs to this step: it is not inside a call"
    reasons = dict.fromkeys(event.why for event in _inside(trace, calls[-1].seq, ev.NoNodeMade))
    return f"{_called(calls[-1])} made no Node: {listed([*reasons]) or _without_reason(trace, calls[-1].seq)}"


def _without_reason(trace: Trace, call: int) -> str:
    """Return the reason for a call in which no kernel gives one."""
    kernels = (event.kernel for event in _inside(trace, call, ev.KernelEntered))
    own = next((kernel for kernel in kernels if kernel.startswith(AUTOGRAD_KERNELS)), "")
    return f"{own} makes none" if own else "no autograd kernel ran in it"


def _inside(trace: Trace, call: int, kind: type[E]) -> list[E]:
    """Return the first events of a kind within a call."""
    steps = trace.steps_of(kind)
    inside = steps[bisect_left(steps, call) : bisect_right(steps, statements.end(trace, call))]
    return [event for step in inside[:REASONS_LOOKED_AT] if isinstance(event := trace[step], kind)]
