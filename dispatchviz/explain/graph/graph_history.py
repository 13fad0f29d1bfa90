"""What happened to each backward Node, in order: gathered in one pass over a trace and kept per trace.

From this ``backward_graph.py`` makes the graph as of any step. The texts and signs of pictures are not here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around
from dispatchviz.explain.trace_index.trace_index import Index, index


class Mark(Enum):
    """What happens to a Node without an event of its own."""

    RENAMED = "a variable began or ceased to name a tensor that the Node shows"
    FAILED = "an exception has left it while it ran"
    PRUNED = "the backward that goes through its graph does not need it"


@dataclass(frozen=True, slots=True)
class Awaits:
    """The number of gradients that a Node waits for in a backward, from DependenciesCounted."""

    gradients: int


Entry = tuple[int, ev.AnyEvent | Awaits | Mark]
"""A step, and what happened to a Node there."""


@dataclass(frozen=True, slots=True)
class Backward:
    """One run of the engine."""

    event: ev.BackwardStarted
    end: int
    """The last step that belongs to it."""
    ran: list[int] = field(default_factory=list)
    """The Nodes that it started, in order."""
    counts: dict[int, int] = field(default_factory=dict)
    """Edges into each Node, as the engine counted them."""
    exec_info: list[ev.ExecInfoPopulated] = field(default_factory=list)
    """Empty, or one if only some gradients are requested."""
    finished: list[ev.BackwardFinished] = field(default_factory=list)
    """Empty if an error ended it."""

    @property
    def nodes(self) -> set[int]:
        """All Nodes that the engine has reached."""
        return {*(node for node, _ in self.event.roots), *self.counts}

    def needs(self, node: int) -> bool:
        """Whether the engine evaluates the Node."""
        return not self.exec_info or node in self.exec_info[0].needed

    def captures(self, node: int) -> list[int]:
        """The indices in the result of ``grad`` of what is captured in the Node's input buffer."""
        found = self.exec_info[0].captures if self.exec_info else ()
        return [position for captured, _, position in found if captured == node]


class GraphHistory:
    """The life of every Node of one trace. It holds no reference to the trace itself."""

    def __init__(self, trace: Trace) -> None:
        self.entries: dict[int, list[Entry]] = defaultdict(list)
        """Per Node, in order of happening."""
        self.seen: list[tuple[int, int]] = []
        """(step, Node), each Node once."""
        self.built: list[int] = []
        """Steps at which a Node or its edges came into being."""
        self.node_events: list[tuple[int, int]] = []
        """(step, Node) of every event that is about one Node."""
        self.backwards: list[Backward] = []
        self.by_start: dict[int, Backward] = {}
        """By the step at which it started."""
        self.order: dict[int, int] = {}
        """``seq`` of a NodeStarted to its position in its backward, from 1."""
        self.targets: dict[int, tuple[int, ...]] = {}
        """Node to the Nodes that its edges lead to."""
        self.targets_by_edge: dict[tuple[int, int], int] = {}
        """Node and number of an edge to the Node that it leads to."""
        self.accumulators: dict[int, int] = {}
        """Leaf to the latest Node that accumulates its gradient."""
        self._ends = trace.ends
        self._running: dict[int, int] = {}
        self._users: dict[int, dict[int, None]] = defaultdict(dict)
        for event in trace:
            note = _NOTES.get(type(event))
            if note is not None:
                note(self, event)
        self._add_failures(len(trace))
        self._add_names(index(trace))

    def count(self, node: int, at: int) -> int:
        """How many entries a Node has as of a step."""
        return bisect_right(self.entries.get(node, ()), at, key=_step)

    def seen_between(self, after: int, until: int) -> list[int]:
        """The Nodes first seen after one step, up to and including another."""
        first, end = (bisect_right(self.seen, step, key=_step) for step in (after, until))
        return [node for _, node in self.seen[first:end]]

    def structure(self, at: int) -> int:
        """A number that grows whenever a Node or its edges come into being."""
        return bisect_right(self.built, at)

    def is_about_node(self, at: int) -> bool:
        """Whether the event of a step is about one Node."""
        position = bisect_right(self.node_events, at, key=_step)
        return position > 0 and self.node_events[position - 1][0] == at

    def last_node(self, at: int) -> int | None:
        """The Node that the last event about any Node was about."""
        position = bisect_right(self.node_events, at, key=_step)
        return self.node_events[position - 1][1] if position else None

    def _note(self, event: Any) -> None:
        node: int = event.node
        if node not in self.entries:
            self.seen.append((event.seq, node))
            self.built.append(event.seq)
        self.entries[node].append((event.seq, event))
        self.node_events.append((event.seq, node))

    def _mention(self, event: Any) -> None:
        self.node_events.append((event.seq, event.node))

    def _edges(self, event: ev.EdgesCollected) -> None:
        self._note(event)
        self.built.append(event.seq)
        self.targets[event.node] = tuple(edge[0] for edge in event.edges if edge)
        self.targets_by_edge.update(((event.node, i), edge[0]) for i, edge in enumerate(event.edges) if edge)
        for _, tensor in event.inputs:
            self._use(event.node, tensor)

    def _with_tensor(self, event: ev.VariableSaved | ev.HistorySet | ev.HistoryRebased) -> None:
        self._note(event)
        self._use(event.node, event.tensor)

    def _accumulator(self, event: ev.AccumulatorMade) -> None:
        self._note(event)
        self._use(event.node, event.tensor)
        self.accumulators[event.tensor] = event.node

    def _use(self, node: int, tensor: int | None) -> None:
        if tensor is not None:
            self._users[tensor][node] = None

    def _backward(self, event: ev.BackwardStarted) -> None:
        self.by_start[event.seq] = Backward(event, self._ends[event.seq])
        self.backwards.append(self.by_start[event.seq])

    def _counted(self, event: ev.DependenciesCounted) -> None:
        if event.parent in self.by_start:
            self.by_start[event.parent].counts.update(event.counts)
        for node, count in event.counts:
            if node in self.entries:
                self.entries[node].append((event.seq, Awaits(count)))

    def _exec_info(self, event: ev.ExecInfoPopulated) -> None:
        """What is pruned, and all behind it that the engine has not reached, is not part of this backward."""
        backward = self.by_start.get(-1 if event.parent is None else event.parent)
        if backward is not None:
            backward.exec_info.append(event)
            for node in self.pruned(backward):
                if node in self.entries:
                    self.entries[node].append((event.seq, Mark.PRUNED))

    def pruned(self, backward: Backward) -> set[int]:
        """The Nodes below the roots of a backward that it does not execute."""
        pruned = dict(backward.exec_info[0].pruned) if backward.exec_info else {}
        ends = [node for node, why in pruned.items() if why == "topological_nr"]
        return {*pruned, *(reached(ends, self.targets) - backward.nodes)}

    def _complete(self, event: ev.BackwardFinished) -> None:
        if event.parent in self.by_start:
            self.by_start[event.parent].finished.append(event)

    def _started(self, event: ev.NodeStarted) -> None:
        self._note(event)
        self._running[event.seq] = event.node
        backward = next((run for run in reversed(self.backwards) if run.end >= event.seq), None)
        if backward is not None:
            backward.ran.append(event.node)
            self.order[event.seq] = len(backward.ran)

    def _finished(self, event: ev.NodeFinished) -> None:
        self._note(event)
        if event.parent is not None:
            self._running.pop(event.parent, None)

    def _accumulated(self, event: ev.GradientAccumulated) -> None:
        if event.tensor in self.accumulators:
            self.node_events.append((event.seq, self.accumulators[event.tensor]))

    def _add_failures(self, steps: int) -> None:
        for start, node in self._running.items():
            if (after := self._ends[start] + 1) < steps:
                self._insert(node, after, Mark.FAILED)

    def _add_names(self, known: Index) -> None:
        for tensor, users in self._users.items():
            for step in sorted(_renamings(known, tensor)):
                for node in users:
                    self._insert(node, step, Mark.RENAMED)

    def _insert(self, node: int, step: int, mark: Mark) -> None:
        entries = self.entries[node]
        if entries[0][0] < step:
            entries.insert(bisect_right(entries, step, key=_step), (step, mark))


def reached(start: Iterable[int], targets: dict[int, tuple[int, ...]]) -> set[int]:
    """The Nodes that edges lead to, the first ones included."""
    found, pending = set[int](), list(start)
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending.extend(targets.get(number, ()))
    return found


def _renamings(known: Index, tensor: int) -> Iterable[int]:
    steps: set[int] = set()
    for step, name in known.names.get(tensor, ()):
        holders = known.holders[name]
        end = bisect_right(holders, step, key=_step)
        steps.update([step, *(other for other, _ in holders[end : end + 1])])
    return steps


def _step(entry: tuple[int, object]) -> int:
    return entry[0]


_NOTES: dict[type[ev.Event], Callable[[GraphHistory, Any], None]] = {
    ev.NodeCreated: GraphHistory._note,
    ev.EdgesCollected: GraphHistory._edges,
    ev.AttributeSaved: GraphHistory._note,
    ev.VariableSaved: GraphHistory._with_tensor,
    ev.VariableNotSaved: GraphHistory._mention,
    ev.AccumulatorMade: GraphHistory._accumulator,
    ev.HistorySet: GraphHistory._with_tensor,
    ev.HistoryRebased: GraphHistory._with_tensor,
    ev.BackwardStarted: GraphHistory._backward,
    ev.DependenciesCounted: GraphHistory._counted,
    ev.ExecInfoPopulated: GraphHistory._exec_info,
    ev.DependencyMet: GraphHistory._note,
    ev.NodeQueued: GraphHistory._note,
    ev.NodeSkipped: GraphHistory._note,
    ev.FormulaSkipped: GraphHistory._mention,
    ev.BackwardFinished: GraphHistory._complete,
    ev.NodeStarted: GraphHistory._started,
    ev.NodeFinished: GraphHistory._finished,
    ev.HookRan: GraphHistory._mention,
    ev.AnomalyFound: GraphHistory._mention,
    ev.GradientBuffered: GraphHistory._mention,
    ev.GradientAccumulated: GraphHistory._accumulated,
    ev.GradientCaptured: GraphHistory._note,
    ev.VariablesReleased: GraphHistory._note,
}

_histories: WeakKeyDictionary[Trace, GraphHistory] = WeakKeyDictionary()


def history(trace: Trace) -> GraphHistory:
    """The history of a trace's Nodes, made when first needed."""
    found = _histories.get(trace)
    if found is None:
        found = _histories[trace] = GraphHistory(trace)
    return found


def backward_around(trace: Trace, seq: int) -> Backward | None:
    """The backward that a step belongs to; its first step counts."""
    start = at_or_around(trace, seq, ev.BackwardStarted)
    return None if start is None else history(trace).by_start.get(start.seq)
