"""Nodes that the engine took up and did not evaluate, since a hook before them raised or was refused."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events.hook_events import BEFORE_NODE
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.node.node_hooks import hooks_of
from dispatchviz.explain.trace_index.recorded_engine import is_live


def not_evaluated(trace: Trace) -> frozenset[int]:
    """The steps at which such Nodes start: in an installed PyTorch, where a Node is seen behind its hooks, there are
    none."""
    if is_live(trace.header):
        return frozenset()
    leaves = {e.node: e.tensor for e in _of_kind(trace, ev.AccumulatorMade) if isinstance(e, ev.AccumulatorMade)}
    returned = {e.parent for e in _of_kind(trace, ev.NodeFinished)}
    started = (e for e in _of_kind(trace, ev.NodeStarted) if isinstance(e, ev.NodeStarted) and e.seq not in returned)
    return frozenset([e.seq for e in started if _raised(trace, e, leaves.get(e.node))])


def _of_kind(trace: Trace, kind: type[ev.Event]) -> list[ev.AnyEvent]:
    return [trace[step] for step in trace.steps_of(kind)]


def _raised(trace: Trace, started: ev.NodeStarted, leaf: int | None) -> bool:
    """Whether more hooks were there than have returned what the engine takes."""
    there = [hook for hook in hooks_of(trace, started.node, leaf, started.seq) if hook.kind in BEFORE_NODE]
    ran = [e for e in trace.children(started.seq) if isinstance(e, ev.HookRan) and e.kind in BEFORE_NODE]
    return len(ran) < len(there)
