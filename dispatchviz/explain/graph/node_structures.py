"""The facts that place a Node in a graph: its name, its sequence number, and the targets of its edges. No tensors or
states.

Many Nodes are read at once, in the order of the trace, so that each part of a file is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file.stored_events import some_events
from dispatchviz.explain.graph.node_events import NodeEvents

E = TypeVar("E", bound=ev.Event)

KEPT = 65_536
"""The number of Nodes that are remembered; twice as many as were read at once, if that is more."""

FEW = 8
"""Looking for the creation of one Node takes as long as looking at that many steps of a kind."""


class NodeStructure(NamedTuple):
    """A Node at a step."""

    number: int
    name: str
    """The full name; empty if unknown."""
    sequence_nr: int
    edges: tuple[tuple[int, int] | None, ...]
    """The number of the Node that each edge leads to, and its input_nr."""


class _Made(Struct):
    """The events of a Node."""

    named: list[ev.NodeCreated | ev.NodeStarted] = field(default_factory=list)
    """The event that created it, or else its first run."""
    edges: list[ev.EdgesCollected] = field(default_factory=list)
    latest: tuple[int, NodeStructure] | None = None
    """Its structure from a step on, which is the one that is nearly always asked for."""


class NodeStructures:
    """The structures of the Nodes of a trace."""

    def __init__(self, events: NodeEvents) -> None:
        self._events = events
        self._known: dict[int, _Made] = {}
        self._most = KEPT

    def load(self, nodes: Iterable[int]) -> None:
        """Read the structures of Nodes that are not known yet."""
        new = {node: _Made() for node in nodes if node not in self._known}
        if len(self._known) + len(new) > self._most:
            self._known.clear()
            self._most = max(KEPT, 2 * len(new))
        self._known |= new
        made = self._making(new)
        steps = sorted(made)
        for step, event in zip(steps, some_events(self._events.events, steps), strict=True):
            if isinstance(event, _NAMING):
                new[made[step]].named.append(event)
            elif isinstance(event, ev.EdgesCollected):
                new[made[step]].edges.append(event)

    def structure(self, node: int, at: int) -> NodeStructure:
        """Return a Node at a step."""
        made = self._made(node)
        if made.latest is not None and made.latest[0] <= at:
            return made.latest[1]
        named, edges = _last(made.named, at), _last(made.edges, at)
        name, sequence_nr = ("", 0) if named is None else (named.name, named.sequence_nr)
        found = NodeStructure(node, name, sequence_nr, () if edges is None else edges.edges)
        last = max((events[-1].seq for events in (made.named, made.edges) if events), default=0)
        if last <= at:
            made.latest = last, found
        return found

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

    def _making(self, nodes: Mapping[int, object]) -> dict[int, int]:
        """Return the steps of the creation of Nodes, each with its Node: those of the kinds that create Nodes, or for
        few Nodes, theirs.
        """
        known, making = self._events, (ev.NodeCreated, ev.EdgesCollected)
        created = known.of_kind(ev.NodeCreated)
        if FEW * len(nodes) < len(created):
            found = {step: node for node in nodes for step in known.of_kinds(node, *making)}
        else:
            steps, of_step = chain(created, known.of_kind(ev.EdgesCollected)), known.columns.nodes
            found = {step: node for step in steps if (node := of_step[step]) in nodes}
        kinds, code = known.columns.kinds, known.columns.code(ev.NodeCreated)
        for node in nodes.keys() - {node for step, node in found.items() if kinds[step] == code}:
            found.update((step, node) for step in known.of_kinds(node, ev.NodeStarted)[:1])
        return found


_NAMING = (ev.NodeCreated, ev.NodeStarted)
"""The kinds of events that have the name of a Node."""


def _last(events: Sequence[E], at: int) -> E | None:
    if events and events[-1].seq <= at:
        return events[-1]
    return next((event for event in reversed(events) if event.seq <= at), None)
