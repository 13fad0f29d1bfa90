"""The facts that place a Node in a graph: its name, its sequence number, and the targets of its edges. No tensors or
states.

Many Nodes are read at once, in the order of the trace, so that each part of a file is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file.stored_events import some_events
from dispatchviz.explain.graph.node_events import NodeEvents

E = TypeVar("E", bound=ev.Event)

KEPT = 65_536
"""The number of Nodes that are remembered; twice as many as were read at once, if that is more."""


@dataclass(slots=True)
class _Made:
    """The events of a Node."""

    named: list[ev.NodeCreated | ev.NodeStarted] = field(default_factory=list)
    """The event that created it, or else its first run."""
    edges: list[ev.EdgesCollected] = field(default_factory=list)


class NodeStructure(NamedTuple):
    """A Node at a step."""

    number: int
    name: str
    """The full name; empty if unknown."""
    sequence_nr: int
    edges: tuple[tuple[int, int] | None, ...]
    """The number of the Node that each edge leads to, and its input_nr."""


class NodeStructures:
    """The structures of the Nodes of a trace."""

    def __init__(self, events: NodeEvents) -> None:
        self._events = events
        code = events.columns.code
        self._created, self._collected, self._started = map(code, (ev.NodeCreated, ev.EdgesCollected, ev.NodeStarted))
        self._known: dict[int, _Made] = {}
        self._most = KEPT

    def load(self, nodes: Iterable[int]) -> None:
        """Read the structures of Nodes that are not known yet."""
        new = [node for node in nodes if node not in self._known]
        if len(self._known) + len(new) > self._most:
            self._known.clear()
            self._most = max(KEPT, 2 * len(new))
        self._known.update((node, _Made()) for node in new)
        nodes = {step: node for node in new for step in self._making(node)}
        steps = sorted(nodes)
        for step, event in zip(steps, some_events(self._events.events, steps), strict=True):
            if isinstance(event, ev.NodeCreated | ev.NodeStarted):
                self._known[nodes[step]].named.append(event)
            elif isinstance(event, ev.EdgesCollected):
                self._known[nodes[step]].edges.append(event)

    def structure(self, node: int, at: int) -> NodeStructure:
        """Return a Node at a step."""
        made = self._made(node)
        named, edges = _last(made.named, at), _last(made.edges, at)
        name, sequence_nr = ("", 0) if named is None else (named.name, named.sequence_nr)
        return NodeStructure(node, name, sequence_nr, () if edges is None else edges.edges)

    def edges(self, node: int, at: int) -> ev.EdgesCollected | None:
        """Return its edges at a step."""
        return _last(self._made(node).edges, at)

    def all_edges(self, node: int) -> Sequence[ev.EdgesCollected]:
        """Return all settings of its edges, in order."""
        return self._made(node).edges

    def _made(self, node: int) -> _Made:
        made = self._known.get(node)
        if made is None:
            self.load((node,))
            made = self._known[node]
        return made

    def _making(self, node: int) -> list[int]:
        """Return the steps of a Node's creation. An AccumulateGrad may have thousands of other steps, one for each
        gradient.
        """
        kinds, wanted = self._events.columns.kinds, (self._created, self._collected)
        steps = self._events.steps(node)
        found = [step for step in steps if kinds[step] in wanted]
        if not any(kinds[step] == self._created for step in found):
            found += [step for step in steps if kinds[step] == self._started][:1]
        return found


def _last(events: Sequence[E], at: int) -> E | None:
    if events and events[-1].seq <= at:
        return events[-1]
    return next((event for event in reversed(events) if event.seq <= at), None)
