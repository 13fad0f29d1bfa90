"""The tensors and Nodes of a step, the main one first: its results and names, then its inputs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.version_counters import invalidated_of
from dispatchviz.explain.things.crossing import calls_of, made_by, root_within, where_raised
from dispatchviz.explain.things.named_things import things_in_sentence
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index import statements
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.explain.trace_index.step_tensors import tensors_of
from dispatchviz.explain.trace_index.trace_index import index

MOST = 12
"""The number of things of a step that are offered."""

CALLS_LOOKED_AT = 4
"""The number of calls of a line that are read."""


def things_of(trace: Trace, at: int) -> list[TensorThing | NodeThing]:
    """Return the tensors and Nodes of a step, each once. If the event has no numbers, those that its sentence names."""
    return _known(trace, _named(trace, where_raised(trace, at))) or _known(trace, things_in_sentence(trace, at))


def _known(trace: Trace, things: Iterable[TensorThing | NodeThing]) -> list[TensorThing | NodeThing]:
    known = index(trace)
    found = [
        thing
        for thing in dict.fromkeys(things)
        if thing.number in (known.tensors if isinstance(thing, TensorThing) else known.nodes)
    ]
    return found[:MOST]


def _named(trace: Trace, at: int) -> Iterator[TensorThing | NodeThing]:
    event = trace[at]
    if isinstance(event, ev.ErrorRaised):
        yield from _to_blame(trace, at)
    own = trace.columns.nodes[at]
    is_of_engine = isinstance(event, ev.NodeStarted | ev.NodeFinished | ev.NodeQueued | ev.DependencyMet)
    if own >= 0 and (trace.columns.tensors[at] < 0 or is_of_engine):
        yield NodeThing(own)
    yield from map(TensorThing, _results(trace, event))
    yield from map(TensorThing, tensors_of(trace, at))
    if isinstance(event, ev.SourceLine):
        yield from map(TensorThing, _of_first_calls(trace, at))
    if own >= 0:
        yield NodeThing(own)
    if isinstance(event, ev.SourceLine | ev.BindingEntered | ev.Dispatched | ev.FunctionEntered):
        calls = calls_of(trace, at)
        yield from (NodeThing(node) for node in reversed(made_by(trace, calls[0])))
    if (root := root_within(trace, at)) is not None:
        yield NodeThing(root)
    if (running := around(trace, at, ev.NodeStarted)) is not None:
        yield NodeThing(running.node)


def _to_blame(trace: Trace, at: int) -> Iterator[TensorThing | NodeThing]:
    """Yield the tensors that a Node saved and that have changed since, which is why it raises."""
    running = around(trace, at, ev.NodeStarted)
    if running is not None:
        saved = (event.tensor for event, _ in invalidated_of(trace, running.node, at))
        yield from (TensorThing(tensor) for tensor in saved if tensor is not None)


def _results(trace: Trace, event: ev.AnyEvent) -> Iterator[int]:
    """Yield the tensors that a line binds to variables, the last first, or that a call returns. They may not exist yet
    at the step.
    """
    columns = trace.columns
    if isinstance(event, ev.SourceLine):
        steps = trace.steps_of(ev.NameBound)
        for part in reversed(statements.parts(trace, event.seq)):
            bound = steps[bisect_left(steps, part) : bisect_right(steps, trace.ends[part])]
            yield from (columns.tensors[step] for step in reversed(bound[-MOST:]) if columns.parents[step] == part)
    elif isinstance(event, ev.BindingEntered):
        calls = [step for step in columns.children(event.seq) if columns.kinds[step] == columns.code(ev.Dispatched)]
        yield from (tensor for call in calls[-1:] for tensor in _returned(trace, call))
    elif isinstance(event, ev.Dispatched | ev.KernelEntered):
        yield from _returned(trace, event.seq)


def _of_first_calls(trace: Trace, line: int) -> Iterator[int]:
    """Yield the arguments of the first functions that a line calls, including those that its modules call."""
    for call in between(trace, ev.BindingEntered, line, trace.ends[line])[:CALLS_LOOKED_AT]:
        yield from tensors_of(trace, call)


def _returned(trace: Trace, call: int) -> tuple[int, ...]:
    last = trace[trace.ends[call]]
    return last.tensors if isinstance(last, ev.KernelReturned) else ()
