"""The graph of backward Nodes at a step of a trace, as a value that pictures and the stepper's lanes show.

This module decides which Nodes belong to the graph and lists them in order. ``graph_node.py`` builds a single Node.
Moving to another step rebuilds only the Nodes that it changed. Layout and signs are in ``outputs/picture``.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.graph.backwards import Backward, Backwards, reached
from dispatchviz.explain.graph.graph_history import GraphHistory, history
from dispatchviz.explain.graph.graph_node import (
    NO_NUMBER,
    GraphEdge,
    GraphNode,
    State,
    graph_node,
)
from dispatchviz.explain.graph.node_outline import NodeOutline, Outlines
from dispatchviz.explain.graph.node_structures import NodeStructure
from dispatchviz.explain.sentences.engine_claims import requested_inputs
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around

K = TypeVar("K")
V = TypeVar("V")

EVERYTHING = "all"
"""The choice of graph that contains every Node of the trace."""

KEPT = 64
"""The number of wirings of a trace that are remembered."""


class Wiring(Struct, frozen=True, eq=False, weakref=True):
    """The Nodes in a graph and their uses. All steps that do not change it share one object."""

    order: tuple[int, ...]
    """The Nodes, users before the Nodes that they use. Ties go to the largest sequence number, as in the engine."""
    uses: Mapping[int, int]
    """The number of edges that lead to each Node."""


class BackwardGraph(Struct, frozen=True, eq=False):
    """The Nodes of a graph at a step."""

    trace: Trace
    header: Header
    at: int
    nodes: Mapping[int, GraphNode]
    """The Nodes by number, in the order of ``wiring.order``."""
    roots: tuple[int, ...]
    """The Nodes where backward starts. Before it has started, the Nodes that no edge leads to."""
    graph_task: int | None
    """The number of the backward pass that the graph belongs to. None before it starts, and for a graph of several
    passes.
    """
    highlight: int | None
    """The Node of this step, or else the Node of the last step that has one."""
    wiring: Wiring
    accumulate: bool = True
    """True if the backward pass writes ``.grad``; False for ``grad``."""
    inputs: tuple[str, ...] = ()
    """The tensors whose gradients the backward pass computes; empty if it computes all."""

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[GraphNode]:
        return iter(self.nodes.values())

    def __getitem__(self, number: int) -> GraphNode:
        return self.nodes[number]

    def outline(self, number: int) -> NodeOutline:
        """Return a Node without its tensors, which takes a tenth of the time."""
        if isinstance(self.nodes, _Nodes):
            return self.nodes.outline(number)
        node = self.nodes[number]
        edges = tuple(None if edge.target is None else (edge.target, edge.input_nr) for edge in node.edges)
        return NodeOutline(number, node.name, node.sequence_nr, edges, node.state, node.order, node.leaf is not None)

    def outlines(self) -> Iterator[NodeOutline]:
        """Yield the outlines of all Nodes, in the order of ``wiring.order``."""
        return map(self.outline, self.nodes)

    def prunes(self, edge: GraphEdge) -> bool:
        """Return whether an edge leads to a Node that does not run in this backward pass."""
        target = None if edge.target is None else self.nodes.get(edge.target)
        return target is not None and target.state is State.PRUNED


def backward_graph(trace: Trace, at: int | None = None, of: int | str | None = None) -> BackwardGraph:
    """Return the backward graph of a trace at step ``at``.

    ``of`` is the number of a backward pass (``graph_task``) or ``EVERYTHING``. Without ``at`` the graph is that of the
    end of the trace, or of the end of the pass that ``of`` names. Without ``of`` and ``at`` it is the graph of the last
    backward pass. Without ``of`` but with ``at`` it is the first that exists of: the graph of the running pass, the
    Nodes built since the last pass, the graph of the last pass. A trace without backward passes has one graph of all
    Nodes.

    Raise ValueError if there is no such backward pass.
    """
    known = history(trace)
    choice = _choice(known, at, of)
    step = at if at is not None else choice[0].end if choice[0] and of is not None else len(trace) - 1
    return _graph(trace, step, choice, _memory(trace).wiring(known, step, choice))


class Part(Struct, frozen=True):
    """Some neighboring Nodes of a graph, and the numbers of later and earlier Nodes that are left out."""

    above: int
    graph: BackwardGraph
    below: int


def part_around(trace: Trace, at: int, most: int) -> Part:
    """Return the part of the graph at step ``at`` around the Node of that step.

    A graph with more than twice ``most`` Nodes is not ordered as a whole, because that would read every Node. The part
    then contains the Nodes made just before and just after that Node, and the leaves that they lead to.
    """
    known = history(trace)
    choice = _choice(known, at, None)
    there = choice[0].by_age if choice[0] else known.seen_between(choice[1], at)
    if len(there) <= 2 * most:
        return _cut(trace, backward_graph(trace, at), most)
    place = there.place(_nearest(trace, known, at))
    first = _first(len(there) if place is None else place, len(there), most)
    shown = there.between(first, first + most)
    wiring, leaves = _memory(trace).wired_part(known, at, choice, (first, most), shown)
    earlier = sum((place := there.place(leaf)) is not None and place < first for leaf in leaves)
    return Part(len(there) - len(shown) - first, _graph(trace, at, choice, wiring), first - earlier)


def _first(middle: int, count: int, most: int) -> int:
    """Return where a part of about ``most`` Nodes begins. It moves in steps of a quarter of its size, so most of the
    drawing stays the same.
    """
    first = max(0, min(middle - most // 2, count - most))
    by = max(most // 4, 1)
    return -(-first // by) * by


def _cut(trace: Trace, graph: BackwardGraph, most: int) -> Part:
    order = graph.wiring.order
    if len(order) <= most:
        return Part(0, graph, 0)
    first = _first(0 if graph.highlight is None else order.index(graph.highlight), len(order), most)
    wiring = _memory(trace).cut(graph.wiring, first, most)
    part = replace(graph, nodes={number: graph[number] for number in wiring.order}, wiring=wiring)
    return Part(first, part, len(order) - len(wiring.order) - first)


def _graph(trace: Trace, step: int, choice: Choice, wiring: Wiring) -> BackwardGraph:
    known = history(trace)
    nodes = _Nodes(trace, known, _memory(trace), wiring, step)
    begun = choice[0].event if choice[0] and choice[0].event.seq <= step else None
    highlight = _nearest(trace, known, step)
    return BackwardGraph(
        trace=trace,
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
"""The backward pass whose graph it is. If None, the step after which its Nodes were made."""


def _choice(known: GraphHistory, at: int | None, of: int | str | None) -> Choice:
    if of == EVERYTHING:
        return None, -1
    if of is not None:
        return _numbered(known.backwards, of), -1
    if at is None:
        return known.backwards.last(), -1
    return _about(known, at)


def _numbered(backwards: Backwards, of: int | str) -> Backward:
    for backward in backwards:
        if backward.event.graph_task == of:
            return backward
    there = ", ".join(str(backward.event.graph_task) for backward in backwards) or "there is none"
    raise ValueError(f"the trace has no backward pass {of!r}; its backward passes are: {there}")


def _about(known: GraphHistory, at: int) -> Choice:
    under_way = next(known.backwards.under_way(at), None)
    if under_way:
        return under_way, -1
    last = known.backwards.ended_last(at)
    if last and known.seen_between(last.end, at):
        return None, last.end
    return last, -1


class _Nodes(Mapping[int, GraphNode]):
    """The Nodes of a graph, each created when it is first read. A folded picture shows few of many thousands."""

    def __init__(self, trace: Trace, known: GraphHistory, memory: _Memory, wiring: Wiring, at: int) -> None:
        self._trace, self._known, self._memory, self._wiring, self._at = trace, known, memory, wiring, at
        self._made: dict[int, GraphNode] = {}
        self._outlined: dict[int, NodeOutline] = {}

    def __getitem__(self, number: int) -> GraphNode:
        if number not in self._wiring.uses:
            raise KeyError(number)
        if number not in self._made:
            self._made[number] = self._memory.node(self._trace, self._known, number, self._at)
        return self._made[number]

    def __contains__(self, number: object) -> bool:
        return number in self._wiring.uses

    def __iter__(self) -> Iterator[int]:
        return iter(self._wiring.order)

    def __len__(self) -> int:
        return len(self._wiring.order)

    def outline(self, number: int) -> NodeOutline:
        """Return a Node without its tensors."""
        if number not in self._outlined:
            self._outlined[number] = self._memory.outlines(self._known).outline(number, self._at)
        return self._outlined[number]


class _Memory:
    """The Nodes and wirings of a trace that have been created."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], GraphNode] = {}
        self._outlines: Outlines | None = None
        self._wirings: dict[tuple[int, ...], Wiring] = {}
        self._parts: dict[tuple[int, ...], tuple[Wiring, set[int]]] = {}
        self._cuts: WeakKeyDictionary[Wiring, dict[tuple[int, int], Wiring]] = WeakKeyDictionary()

    def node(self, trace: Trace, known: GraphHistory, number: int, at: int) -> GraphNode:
        key = number, known.last_entry(number, at)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = graph_node(trace, number, known.entries(number, at), key[1], known.order)
        return found

    def outlines(self, known: GraphHistory) -> Outlines:
        if self._outlines is None:
            self._outlines = Outlines(known)
        return self._outlines

    def wiring(self, known: GraphHistory, at: int, choice: Choice) -> Wiring:
        """Return all Nodes of a graph, in order."""
        key = *_graph_key(choice), known.structure(at)
        return self._wirings.get(key) or _kept(self._wirings, key, _wired(_structures(known, at, choice)))

    def wired_part(
        self, known: GraphHistory, at: int, choice: Choice, where: tuple[int, int], nodes: Iterable[int]
    ) -> tuple[Wiring, set[int]]:
        """Return the wiring of some Nodes and the leaves that they lead to, and the leaves that are not among these
        Nodes.

        ``where`` is their range among the Nodes of the graph.
        """
        key = *_graph_key(choice), known.structure(at), *where
        return self._parts.get(key) or _kept(self._parts, key, _wired_part(known, at, choice[0], nodes))

    def cut(self, whole: Wiring, first: int, most: int) -> Wiring:
        """Return some consecutive Nodes of a graph that has been ordered."""
        parts = self._cuts.setdefault(whole, {})
        if (first, most) not in parts:
            shown = whole.order[first : first + most]
            parts[first, most] = Wiring(shown, {number: whole.uses[number] for number in shown})
        return parts[first, most]


def _graph_key(choice: Choice) -> tuple[int, int]:
    return choice[0].event.seq if choice[0] else -1, choice[1]


def _kept(known: dict[K, V], key: K, value: V) -> V:
    """Remember a value, and forget the oldest ones when there are too many."""
    if len(known) >= KEPT:
        known.clear()
    known[key] = value
    return value


def _wired_part(
    known: GraphHistory, at: int, backward: Backward | None, nodes: Iterable[int]
) -> tuple[Wiring, set[int]]:
    there = [number for number in nodes if known.events.first(number) <= at]
    known.structures.load(there)
    part = {number: known.structures.structure(number, at) for number in there}
    targets = {edge[0] for structure in part.values() for edge in structure.edges if edge} - part.keys()
    leaves = {number for number in targets & known.leaves if known.events.first(number) <= at}
    wiring = _wired([*(known.structures.structure(number, at) for number in sorted(leaves)), *part.values()])
    uses = backward.counts if backward else wiring.uses
    return Wiring(wiring.order, {number: uses.get(number, wiring.uses[number]) for number in wiring.order}), leaves


def _structures(known: GraphHistory, at: int, choice: Choice) -> Iterator[NodeStructure]:
    """Yield the Nodes of a graph in the order in which they were made."""
    backward, after = choice
    starts = _starts(backward) if backward else known.seen_between(after, at)
    known.structures.load({*backward.nodes, *starts} if backward else starts)
    found = reached(starts, known.targets)
    steps, nodes = known.events.seen
    until = bisect_right(steps, at)
    seen = sorted(place for number in found if (place := nodes.places.get(number, until)) < until)
    return (known.structures.structure(nodes.nodes[place], at) for place in seen)


_memories: WeakKeyDictionary[Trace, _Memory] = WeakKeyDictionary()


def _memory(trace: Trace) -> _Memory:
    return _memories.setdefault(trace, _Memory())


def _starts(backward: Backward) -> list[int]:
    """Return the roots, and Nodes that ran although no edge leads to them, such as the common root of several roots."""
    return [*(node for node, _ in backward.event.roots), *backward.ran]


def _wired(nodes: Iterable[NodeStructure]) -> Wiring:
    """Order Nodes. Nodes that are ready compete as in the engine; ties go to the Node that was ready first."""
    members = {node.number: node for node in nodes}
    targets = {number: [edge[0] for edge in node.edges if edge] for number, node in members.items()}
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


def _unused_rank(node: NodeStructure) -> int:
    """Return the rank of an AccumulateGrad that no edge leads to yet. It comes last, because the Node made before it is
    about to use it.
    """
    return 1 if node.sequence_nr == NO_NUMBER else -node.sequence_nr


def _unused(wiring: Wiring) -> tuple[int, ...]:
    return tuple(number for number in wiring.order if not wiring.uses[number])


def _nearest(trace: Trace, known: GraphHistory, at: int) -> int | None:
    """Return the Node of the step, or else the running Node, or else the Node of the latest event."""
    if not 0 <= at < len(trace):
        return known.events.last_node(at)
    running = at_or_around(trace, at, ev.NodeStarted)
    if running is None or known.events.is_about_node(at):
        return known.events.last_node(at)
    return running.node
