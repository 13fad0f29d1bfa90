"""The graph of backward Nodes as of a step of a trace, as a value: what the pictures and the stepper's lanes show.

Which Nodes belong to it, and in which order they are listed. What one Node shows is in ``graph_node.py``. A step makes
anew only the Nodes that it changed. No layout and no signs here (``render/graph``).
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.graph.graph_history import Backward, GraphHistory, history, reached
from dispatchviz.explain.graph.graph_node import NO_NUMBER, GraphEdge, GraphNode, State, graph_node
from dispatchviz.explain.sentences.requested_gradients import requested_inputs
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around

EVERYTHING = "all"
"""Asks ``backward_graph`` for every Node of the trace."""

KEPT = 64
"""So many wirings of a trace are remembered."""


@dataclass(frozen=True, eq=False)
class Wiring:
    """Which Nodes are in a graph, and how they are used. One object for all steps that do not change it."""

    order: tuple[int, ...]
    """Users before what they use, else as the engine would pick: the largest sequence number first."""
    uses: Mapping[int, int]
    """How many edges lead to each Node."""


@dataclass(frozen=True, eq=False)
class BackwardGraph:
    """The Nodes of a graph as of a step."""

    header: Header
    at: int
    nodes: Mapping[int, GraphNode]
    """By number, in the order of ``wiring.order``."""
    roots: tuple[int, ...]
    """Where backward starts; before it has, the Nodes that no other leads to."""
    graph_task: int | None
    """Number of the backward that the graph belongs to; None before it starts, and for several together."""
    highlight: int | None
    """The Node that the step is about, or else the last one that a step was about."""
    wiring: Wiring
    accumulate: bool = True
    """The backward writes ``.grad``; False for ``grad``."""
    inputs: tuple[str, ...] = ()
    """The tensors whose gradients the backward pass computes; empty if it computes all."""

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[GraphNode]:
        return iter(self.nodes.values())

    def __getitem__(self, number: int) -> GraphNode:
        return self.nodes[number]

    def prunes(self, edge: GraphEdge) -> bool:
        """An edge leads to a Node that does not run in this backward."""
        target = None if edge.target is None else self.nodes.get(edge.target)
        return target is not None and target.state is State.PRUNED


def backward_graph(trace: Trace, at: int | None = None, of: int | str | None = None) -> BackwardGraph:
    """The backward graph of a trace as of step ``at``; left out, the end (of the backward, if ``of`` names one).

    ``of`` says which one: the number of a backward (``graph_task``) or ``EVERYTHING``. Left out, it is the graph of the
    last backward; with ``at``, the one that the step is about: that of the backward under way, else what has been built
    since the last one, else that of the last one. Without any backward it is all Nodes.

    Raises ValueError if there is no such backward.
    """
    known = history(trace)
    choice = _choice(known, at, of)
    step = at if at is not None else choice[0].end if choice[0] and of is not None else len(trace) - 1
    memory = _memories.setdefault(trace, _Memory())
    wiring = memory.wiring(trace, known, step, choice)
    nodes = {number: memory.node(trace, known, number, step) for number in wiring.order}
    begun = choice[0].event if choice[0] and choice[0].event.seq <= step else None
    highlight = _nearest(trace, known, step)
    return BackwardGraph(
        header=trace.header,
        at=step,
        nodes=nodes,
        roots=tuple(dict.fromkeys(node for node, _ in begun.roots)) if begun else _unused(wiring),
        graph_task=begun.graph_task if begun else None,
        highlight=highlight if highlight in nodes else None,
        wiring=wiring,
        accumulate=begun.accumulate if begun else True,
        inputs=tuple(requested_inputs(trace, begun, step)) if begun else (),
    )


Choice = tuple[Backward | None, int]
"""The backward whose graph it is; if None, the step after which its Nodes were made."""


def _choice(known: GraphHistory, at: int | None, of: int | str | None) -> Choice:
    if of == EVERYTHING:
        return None, -1
    if of is not None:
        return _numbered(known.backwards, of), -1
    if at is None:
        return (known.backwards[-1] if known.backwards else None), -1
    return _about(known, at)


def _numbered(backwards: list[Backward], of: int | str) -> Backward:
    for backward in backwards:
        if backward.event.graph_task == of:
            return backward
    there = ", ".join(str(backward.event.graph_task) for backward in backwards) or "there is none"
    raise ValueError(f"no backward {of!r} in this trace; its backwards: {there}")


def _about(known: GraphHistory, at: int) -> Choice:
    begun = [backward for backward in known.backwards if backward.event.seq <= at]
    under_way = [backward for backward in begun if at <= backward.end]
    if under_way:
        return under_way[-1], -1
    last = max(begun, key=lambda backward: backward.end, default=None)
    if last and known.seen_between(last.end, at):
        return None, last.end
    return last, -1


class _Memory:
    """The Nodes and wirings of one trace that have been made."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], GraphNode] = {}
        self._wirings: dict[tuple[int, int, int], Wiring] = {}

    def node(self, trace: Trace, known: GraphHistory, number: int, at: int) -> GraphNode:
        key = number, known.count(number, at)
        found = self._nodes.get(key)
        if found is None:
            entries = known.entries[number][: key[1]]
            found = self._nodes[key] = graph_node(trace, number, entries, known.order)
        return found

    def wiring(self, trace: Trace, known: GraphHistory, at: int, choice: Choice) -> Wiring:
        backward, after = choice
        key = backward.event.seq if backward else -1, after, known.structure(at)
        if key not in self._wirings:
            if len(self._wirings) == KEPT:
                self._wirings.clear()
            found = reached(_starts(backward) if backward else known.seen_between(after, at), known.targets)
            nodes = [self.node(trace, known, number, at) for number in known.seen_between(-1, at) if number in found]
            self._wirings[key] = _wired(nodes)
        return self._wirings[key]


_memories: WeakKeyDictionary[Trace, _Memory] = WeakKeyDictionary()


def _starts(backward: Backward) -> list[int]:
    """The roots; and what ran without an edge leading to it, as the common root of several roots does."""
    return [*(node for node, _ in backward.event.roots), *backward.ran]


def _wired(nodes: Iterable[GraphNode]) -> Wiring:
    """Puts Nodes in order. Those that are ready compete as in the engine, ties go to the one that was ready first."""
    members = {node.number: node for node in nodes}
    targets = {number: [edge.target for edge in node.edges] for number, node in members.items()}
    uses = Counter(target for found in targets.values() for target in found if target in members)
    left, order, count = dict(uses), list[int](), itertools.count()
    ready = [(_unused_rank(node), next(count), number) for number, node in members.items() if not uses[number]]
    heapq.heapify(ready)
    while ready:
        number = heapq.heappop(ready)[2]
        order.append(number)
        for target in targets[number]:
            if target in left:
                left[target] -= 1
                if not left[target]:
                    heapq.heappush(ready, (-members[target].sequence_nr, next(count), target))
    return Wiring(tuple(order), {number: uses[number] for number in order})


def _unused_rank(node: GraphNode) -> int:
    """An AccumulateGrad that no edge leads to yet is about to be used by the Node made before it: it comes last."""
    return 1 if node.sequence_nr == NO_NUMBER else -node.sequence_nr


def _unused(wiring: Wiring) -> tuple[int, ...]:
    return tuple(number for number in wiring.order if not wiring.uses[number])


def _nearest(trace: Trace, known: GraphHistory, at: int) -> int | None:
    """The Node that the step says something about, else the one that is running, else the one of the latest event."""
    if not 0 <= at < len(trace):
        return known.last_node(at)
    running = at_or_around(trace, at, ev.NodeStarted)
    if running is None or known.is_about_node(at):
        return known.last_node(at)
    return running.node
