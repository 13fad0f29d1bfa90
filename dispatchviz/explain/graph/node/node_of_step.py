"""The Node of a step: the Node that it makes, runs or names; else the one made by the autograd kernel around it; else
the grad_fn of a tensor of the step; else the Node that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.things.thing import NodeThing
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index

LOOKED_AT = 50
"""The number of Nodes within a kernel that are searched for one that the kernel made itself, which comes first if at
all.
"""


@lru_cache(maxsize=4)
def node_of_step(trace: Trace, at: int) -> int | None:
    """Return the Node of a step, or None if the step has no Node that exists by then."""
    own = trace.columns.nodes[at]
    return own if own >= 0 else next(_candidates(trace, at), None)


def has_node(trace: Trace, at: int) -> bool:
    """Return whether a step has a Node. It takes less time than to find that Node."""
    return around(trace, at, ev.NodeStarted) is not None or node_of_step(trace, at) is not None


def _candidates(trace: Trace, at: int) -> Iterator[int]:
    things, first = things_of(trace, at), history(trace).events.first
    yield from (thing.number for thing in things if isinstance(thing, NodeThing) and first(thing.number) <= at)
    for kernel in trace.ancestors(at):
        if isinstance(kernel, ev.KernelEntered) and (made := _made_by(trace, kernel.seq, at)) is not None:
            yield made
    for thing in things:
        node = None if isinstance(thing, NodeThing) else index(trace).history(thing.number, at)
        if node is not None and first(node) <= at:
            yield node
    if (running := around(trace, at, ev.NodeStarted)) is not None:
        yield running.node


def _made_by(trace: Trace, kernel: int, at: int) -> int | None:
    """Return the Node that a kernel itself made before a step."""
    columns = trace.columns
    inside = islice(history(trace).events.between(ev.NodeCreated, kernel, at), LOOKED_AT)
    return next((columns.nodes[step] for step in inside if columns.parents[step] == kernel), None)
