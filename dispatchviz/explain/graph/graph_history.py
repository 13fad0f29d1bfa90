"""The history of each backward Node, in order, found on demand through the columns of a trace.

``backward_graph.py`` builds the graph at any step from it. The texts and signs of pictures are elsewhere, and so are
the runs of the engine (``backwards.py``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from operator import itemgetter
from weakref import WeakKeyDictionary

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward, Backwards
from dispatchviz.explain.graph.node_events import NodeEvents, NodesByAge
from dispatchviz.explain.graph.node_structures import NodeStructures
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import Index, index


class Mark(Enum):
    """A change of a Node that has no event of its own."""

    DONE = "it has run, but the recording does not show its return"
    FAILED = "it raised an exception"
    LEFT = "the backward pass raised an exception before it ran"
    PRUNED = "the backward pass through its graph does not need it"


class Awaits(Struct, frozen=True):
    """The number of gradients that a Node waits for in a backward pass, from DependenciesCounted."""

    gradients: int


Happening = ev.AnyEvent | Awaits | Mark
Entry = tuple[int, Happening]
"""A step, and the change of a Node there."""

Marked = tuple[int, Awaits | Mark]
"""A step and a change without an event."""

KEPT = 65_536
"""The number of Nodes whose creation is remembered."""


class GraphHistory:
    """The history of every Node of a trace. It holds no reference to the trace itself."""

    def __init__(self, trace: Trace) -> None:
        self.events = NodeEvents(trace)
        self.structures = NodeStructures(self.events)
        self.backwards = Backwards(self.events, self._targets_at)
        self._index: Index = index(trace)
        self._kept: dict[int, tuple[list[Entry], list[int]]] = {}
        """The creation of each Node, and the steps at which a name that it shows changes."""
        self._renaming_steps: dict[int, list[int]] = {}
        self._irregular: dict[int, list[Marked]] = defaultdict(list)
        """The effects of irregular backward passes on the Nodes that have been read."""
        self._marked: tuple[tuple[int, int], list[Marked]] = (-1, -1), []
        self._places: Mapping[int, int] = {}
        """The places in the last backward pass that was read, which is nearly always read again next."""
        self._counting: tuple[int, list[Backward]] = -1, []
        self._started, self._finished = map(trace.columns.code, (ev.NodeStarted, ev.NodeFinished))
        self._ends_unseen = is_unseen(trace.header, ev.NodeFinished)
        self._looked_at = 0
        """The number of passes that have been read."""

    def _renamings(self, tensor: int) -> list[int]:
        """Return the steps at which a tensor gets another name, or another tensor gets its name."""
        found = self._renaming_steps.get(tensor)
        if found is None:
            steps: set[int] = set()
            for step, name in self._index.names.get(tensor, ()):
                holders = self._index.holders.get(name, ())  # a damaged file may not have those of its names
                end = bisect_right(holders, step, key=_step)
                steps.update([step, *(other for other, _ in holders[end : end + 1])])
            found = self._renaming_steps[tensor] = sorted(steps)
        return found

    def read_ahead(self) -> None:
        """Find what depends on all Nodes and passes, so that no later question has to."""
        self.last_mark(len(self.events) - 1)
        self.backwards.ended_last(len(self.events) - 1)
        _ = self.events.seen, self.events.released

    def entries(self, node: int, at: int) -> list[Entry]:
        """Return the part of a Node's history that shows at a step, in order: its creation, and its latest changes."""
        return sorted([*self._made_until(node, at), *self._latest(node, at), *self.marks(node, at)], key=_step)

    def last_change(self, node: int, at: int) -> int:
        """Return the last step at which a Node changed."""
        return max(self.events.last(node, at), *(step for step, _ in self.marks(node, at)), -1)

    def last_entry(self, node: int, at: int) -> int:
        """Return the last step at which a Node, or a name that it shows, changed."""
        renamed = self._renamed(node)
        position = bisect_right(renamed, at)
        return max(self.last_change(node, at), renamed[position - 1] if position else -1)

    def marks(self, node: int, at: int) -> list[Marked]:
        """Return the changes without an event, as far as they can show. The last result is cached, because it is
        usually read again.
        """
        if self._marked[0] != (node, at):
            self._marked = (node, at), list(self._found_marks(node, at))
        return self._marked[1]

    def edges(self, node: int, at: int) -> ev.EdgesCollected | None:
        """Return a Node's edges at a step."""
        return self.structures.edges(node, at)

    def targets(self, node: int) -> Iterable[int]:
        """Return the Nodes that the edges of a Node finally lead to."""
        made = self.structures.all_edges(node)
        return [edge[0] for edge in made[-1].edges if edge] if made else ()

    def target(self, node: int, edge: int) -> int | None:
        """Return the Node that one edge of a Node finally leads to."""
        made = self.structures.all_edges(node)
        found = (event.edges[edge] for event in reversed(made) if edge < len(event.edges))
        return next((end[0] for end in found if end), None)

    def result(self, node: int, output_nr: int, at: int) -> int | None:
        """Return the tensor that is an output of a Node's forward call at a step."""
        made = (event for _, event in reversed(self._made_until(node, at)) if isinstance(event, _RESULTS))
        return next((event.tensor for event in made if event.output_nr == output_nr), None)

    def latest_first(self, node: int, at: int) -> Iterator[Happening]:
        """Yield the changes of a Node up to a step, latest first."""
        return (happening for _, happening in reversed(self.entries(node, at)))

    def later(self, node: int, at: int) -> Iterator[ev.AnyEvent]:
        """Yield the events of a Node after a step, in order."""
        steps = self.events.life(node)
        return map(self.events.events.__getitem__, steps[bisect_right(steps, at) :])

    def seen_between(self, after: int, until: int) -> NodesByAge:
        """Return the Nodes first seen after one step, up to and including another."""
        if not self.events.begun(until):
            return NodesByAge.of(())
        steps, nodes = self.events.seen
        return nodes.between(bisect_right(steps, after), bisect_right(steps, until))

    def structure(self, at: int) -> int:
        """Return a number that grows whenever a Node or its edges are created."""
        if not self.events.begun(at):
            return 0
        return bisect_right(self.events.seen[0], at) + bisect_right(self.events.of_kind(ev.EdgesCollected), at)

    def order(self, started: int) -> int | None:
        """Return the position of a NodeStarted in its backward pass, from 1."""
        if started not in self._places:
            backward = next(self.backwards.under_way(started), None)
            self._places = {} if backward is None else backward.places
        return self._places.get(started)

    @cached_property
    def leaves(self) -> frozenset[int]:
        """The Nodes that accumulate a leaf's gradient: the latest one of each leaf."""
        return frozenset(self.events.accumulators.values())

    def _targets_at(self, node: int, at: int) -> Iterable[int]:
        made = self.edges(node, at)
        return () if made is None else [edge[0] for edge in made.edges if edge]

    # -- history of a Node --------------------------------------------------------------------------------------------

    def _made_until(self, node: int, at: int) -> list[Entry]:
        """Return the creation of a Node and the tensors that it saved."""
        made = self._making(node)[0]
        return made if not made or made[-1][0] <= at else [entry for entry in made if entry[0] <= at]

    def _renamed(self, node: int) -> list[int]:
        """Return the steps at which a variable begins or ceases to name a tensor that a Node shows."""
        return self._making(node)[1]

    def _making(self, node: int) -> tuple[list[Entry], list[int]]:
        found = self._kept.get(node)
        if found is None:
            steps = self.events.making(node)
            made: list[Entry] = [(event.seq, event) for event in map(self.events.events.__getitem__, steps)]
            tensors = dict.fromkeys(tensor for _, event in made for tensor in _shown(event))
            renamed = {step for tensor in tensors for step in self._renamings(tensor)}
            found = made, sorted(step for step in renamed if step > self.events.first(node))
            if len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[node] = found
        return found

    def _latest(self, node: int, at: int) -> Iterator[Entry]:
        """Yield the engine's changes of a Node since it last ran, and the release of its saved variables if that came
        before.
        """
        released = self.events.released.get(node, at + 1)
        latest = self.events.latest(node, at)
        if released <= at and released not in latest:
            latest = [*latest, released]
        return ((step, self.events.events[step]) for step in latest)

    def last_mark(self, at: int) -> int:
        """Return the last step up to ``at`` at which a backward pass may have marked a Node that had run before."""
        if self.backwards.irregular and self.backwards.irregular[0] <= at:
            return at
        return max((backward.counted[-1].seq for backward in self._counting_at(at)), default=-1)

    def _found_marks(self, node: int, at: int) -> Iterator[Marked]:
        for backward in self._counting_at(at):
            if node in backward.counts and self.events.first(node) < (counted := backward.counted[-1].seq):
                yield counted, Awaits(backward.counts[node])
        yield from self._failed(self.events.latest(node, at), at)
        yield from self._irregular_until(node, at)

    def _counting_at(self, at: int) -> list[Backward]:
        """Return the running passes that run all Nodes that they have counted."""
        if self._counting[0] != at:
            found = (each for each in self.backwards.under_way(at) if not self._is_irregular(each.event.seq))
            self._counting = at, [each for each in found if each.counted and each.counted[-1].seq <= at]
        return self._counting[1]

    def _failed(self, latest: Sequence[int], at: int) -> Iterator[Marked]:
        """Yield the ends of NodeStarted events that contain no NodeFinished."""
        columns = self.events.columns
        if latest and columns.kinds[start := latest[-1]] == self._started and columns.ends[start] < at:
            inside = (step for step in latest if columns.kinds[step] == self._finished)
            if not any(columns.parents[step] == start for step in inside):
                yield columns.ends[start] + 1, Mark.DONE if self._went_on(start) else Mark.FAILED

    def _went_on(self, start: int) -> bool:
        """Return whether the engine went on after a Node whose return was not recorded."""
        backward = self.backwards.around(start) if self._ends_unseen else None
        return backward is not None and (bool(backward.finished) or backward.starts[-1] != start)

    # -- passes that do not run all Nodes -----------------------------------------------------------------------------

    def _is_irregular(self, start: int) -> bool:
        return start in self._irregular_starts

    @cached_property
    def _irregular_starts(self) -> frozenset[int]:
        return frozenset(self.backwards.irregular)

    def _irregular_until(self, node: int, at: int) -> list[Marked]:
        starts = self.backwards.irregular
        while self._looked_at < len(starts) and starts[self._looked_at] <= at:
            self._look_at(self.backwards.get(starts[self._looked_at]))
            self._looked_at += 1
        known = self._irregular.get(node)
        if not known:
            return []
        first = self.events.first(node)
        return [entry for entry in known if first < entry[0] <= at]

    def _look_at(self, backward: Backward | None) -> None:
        if backward is None:
            return
        for event in backward.counted:
            for node, count in event.counts:
                self._irregular[node].append((event.seq, Awaits(count)))
        if not backward.finished:
            for node in backward.counts.keys() - set(backward.ran):
                self._irregular[node].append((backward.end + 1, Mark.LEFT))
        for populated in backward.exec_info:
            for node in backward.pruned:
                self._irregular[node].append((populated.seq, Mark.PRUNED))


_RESULTS = (ev.HistorySet, ev.HistoryRebased)


def _shown(event: Happening) -> Iterator[int]:
    """Yield the tensors that a Node shows because of an event."""
    match event:
        case ev.EdgesCollected():
            yield from (tensor for _, tensor in event.inputs if tensor is not None)
        case ev.VariableSaved(tensor=int(tensor)):
            yield tensor
        case ev.HistorySet() | ev.HistoryRebased() | ev.AccumulatorMade():
            yield event.tensor
        case _:
            pass


_step: Callable[[tuple[int, object]], int] = itemgetter(0)
"""The step of an entry."""


_histories: WeakKeyDictionary[Trace, GraphHistory] = WeakKeyDictionary()


def history(trace: Trace) -> GraphHistory:
    """Return the history of a trace's Nodes, created on first use."""
    found = _histories.get(trace)
    if found is None:
        found = _histories[trace] = GraphHistory(trace)
    return found


def backward_around(trace: Trace, seq: int) -> Backward | None:
    """Return the backward pass that a step belongs to; its first step counts."""
    start = at_or_around(trace, seq, ev.BackwardStarted)
    return None if start is None else history(trace).backwards.get(start.seq)
