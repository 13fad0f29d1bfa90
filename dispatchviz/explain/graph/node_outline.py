"""A Node without its tensors: enough to order and fold a graph of many thousands, and to compare it with an earlier
step.

The kinds of its steps alone give its state in the engine; no event of the engine is decoded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import Awaits, GraphHistory, Mark, history
from dispatchviz.explain.graph.graph_node import State, after_error
from dispatchviz.explain.trace_index.display_names import plain_node


class NodeOutline(NamedTuple):
    """The facts about a Node that need no tensors."""

    number: int
    name: str
    sequence_nr: int
    edges: tuple[tuple[int, int] | None, ...]
    """The number of the Node that each edge leads to, and its input_nr."""
    state: State
    order: int | None
    has_leaf: bool


Happened = tuple[int, int | Awaits | Mark]
"""A step, and the code of its kind, or the change there if it has no event."""

STATES = {
    ev.NodeQueued: State.QUEUED,
    ev.NodeSkipped: State.PRUNED,
    ev.NodeStarted: State.RUNNING,
    ev.NodeFinished: State.DONE,
    ev.GradientCaptured: State.CAPTURED,
}
"""The usual state of a Node in the engine after an event of a kind."""

MARKED: dict[object, State] = {Mark.PRUNED: State.PRUNED, Mark.DONE: State.DONE, Mark.FAILED: State.FAILED}


class Outlines:
    """The outlines of a trace."""

    def __init__(self, known: GraphHistory) -> None:
        self._known, self._kinds = known, known.events.columns.kinds
        code = known.events.columns.code
        self._states: dict[object, State] = {**{code(kind): state for kind, state in STATES.items()}, **MARKED}
        self._queued, self._skipped = code(ev.NodeQueued), code(ev.NodeSkipped)
        self._started, self._finished = code(ev.NodeStarted), code(ev.NodeFinished)
        self._marked = -1, -1
        self._without_state = frozenset(range(256)) - self._states.keys()

    def outline(self, number: int, at: int) -> NodeOutline:
        """Return a Node at a step."""
        structure = self._known.structures.structure(number, at)
        state, started = self._state(number, at)
        return NodeOutline(
            number,
            plain_node(structure.name) or "Node",
            structure.sequence_nr,
            structure.edges,
            state,
            None if started is None else self._known.order(started),
            self._known.events.leaf_nodes.get(number, at + 1) <= at,
        )

    def _state(self, node: int, at: int) -> tuple[State, int | None]:
        """Return the state of a Node in the engine, and the step at which it ran in the latest backward pass that
        reached it.
        """
        return self._settled(node, at) or self._followed(node, at)

    def _settled(self, node: int, at: int) -> tuple[State, int] | None:
        """Return the state of a Node that has run with no later changes, which most Nodes have. It is found quickly."""
        known, kinds, steps = self._known, self._kinds, self._known.events.steps(node)
        place = bisect_right(steps, at) - 1
        while place >= 0 and kinds[steps[place]] in self._without_state:
            place -= 1
        if place < 0 or kinds[finished := steps[place]] != self._finished or finished <= self._last_mark(at):
            return None
        while place >= 0 and kinds[steps[place]] != self._started:
            place -= 1
        if place < 0 or known.events.columns.parents[finished] != steps[place]:
            return None
        state = State.RELEASED if known.events.released.get(node, finished) < finished else State.DONE
        return state, steps[place]

    def _last_mark(self, at: int) -> int:
        if self._marked[0] != at:
            self._marked = at, self._known.last_mark(at)
        return self._marked[1]

    def _followed(self, node: int, at: int) -> tuple[State, int | None]:
        state, started = State.CREATED, None
        for step, what in self._happened(node, at):
            if what == self._started:
                state, started = State.RUNNING, step
            elif what == self._queued or what is Mark.PRUNED or isinstance(what, Awaits):
                state, started = self._states.get(what, State.WAITING), None
            elif what is Mark.LEFT:
                state = after_error(state)
            elif what == self._finished and self._known.events.released.get(node, step) < step:
                state = State.RELEASED
            elif what != self._skipped or state is not State.CAPTURED:
                state = self._states[what]
        return state, started

    def _happened(self, node: int, at: int) -> Iterable[Happened]:
        """Return the changes of the state, in order: the steps since it last ran, and the changes without an event."""
        kinds, marks = self._kinds, self._known.marks(node, at)
        found: list[Happened] = [(step, kinds[step]) for step in reversed(self._known.events.latest(node, at))]
        found = [each for each in found if each[1] in self._states]
        return sorted([*found, *marks], key=itemgetter(0)) if marks else found


class GraphChanges:
    """The differences of Nodes from an earlier step."""

    def __init__(self, trace: Trace, since: int) -> None:
        self._known, self.since = history(trace), since
        self._outlines = Outlines(self._known)

    def text(self, node: int, now: State) -> str:
        """Return ``new`` or ``was waiting``; empty if the Node existed in the same state."""
        if self._known.events.first(node) > self.since:
            return "new"
        before = self._outlines.outline(node, self.since).state
        return "" if before is now else f"was {before.value}"
