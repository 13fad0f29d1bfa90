"""The runs of the engine in a trace: the run that a step belongs to, and the Nodes that each run reached. Found on
demand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.node_events import NodeEvents, NodesByAge

Targets = Callable[[int], Iterable[int]]
"""The Nodes that the edges of a Node lead to."""


class Backward:
    """A run of the engine."""

    def __init__(self, known: Backwards, event: ev.BackwardStarted) -> None:
        self._known, self._events = known, known.events
        self.event = event
        self.end: int = self._events.columns.ends[event.seq]
        """The last step that belongs to the run."""
        self._steps: dict[type[ev.Event], list[int]] = {}

    def steps(self, kind: type[ev.Event]) -> list[int]:
        """Return the steps of a kind in this run, without those of nested passes. Cached."""
        if kind not in self._steps:
            self._steps[kind] = self._known.own(self.event.seq, kind)
        return self._steps[kind]

    @property
    def starts(self) -> list[int]:
        """The steps at which the run started a Node."""
        return self.steps(ev.NodeStarted)

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each started Node in the order of the run, from 1, by the step at which it started."""
        return {step: place for place, step in enumerate(self.starts, 1)}

    @cached_property
    def ran(self) -> list[int]:
        """The Nodes that the run started, in order."""
        return [self._events.columns.nodes[step] for step in self.starts]

    @cached_property
    def counted(self) -> list[ev.DependenciesCounted]:
        """The event that counted the edges; empty if an error came before it."""
        return self._events.within(self.event.seq, ev.DependenciesCounted)

    def counted_at(self, at: int) -> ev.DependenciesCounted | None:
        """Return how the edges were counted, or None if that had not happened at a step."""
        return next((event for event in self.counted if event.seq <= at), None)

    @cached_property
    def counts(self) -> dict[int, int]:
        """The number of edges into each Node, as the engine counted them."""
        return {node: count for event in self.counted for node, count in event.counts}

    @cached_property
    def exec_info(self) -> list[ev.ExecInfoPopulated]:
        """The event that filled ``exec_info_``; empty unless only some gradients are requested."""
        return self._events.within(self.event.seq, ev.ExecInfoPopulated)

    def exec_info_at(self, at: int) -> ev.ExecInfoPopulated | None:
        """Return how ``exec_info_`` was filled, or None if it is empty at a step."""
        return next((event for event in self.exec_info if event.seq <= at), None)

    @cached_property
    def finished(self) -> list[ev.BackwardFinished]:
        """The event that ended the run; empty if an error ended it."""
        return self._events.within(self.event.seq, ev.BackwardFinished)

    @cached_property
    def nodes(self) -> set[int]:
        """All Nodes that the engine reached."""
        return {*(node for node, _ in self.event.roots), *self.counts}

    @cached_property
    def by_age(self) -> NodesByAge:
        """All Nodes that the run is about, oldest first."""
        there = {*self.nodes, *self.ran, *self.pruned}
        return NodesByAge.of([node for _, node in sorted((self._events.first(node), node) for node in there)])

    @cached_property
    def needed(self) -> set[int]:
        """The Nodes that run, if only some gradients are requested."""
        return {node for event in self.exec_info for node in event.needed}

    @cached_property
    def pruned(self) -> set[int]:
        """The Nodes below the roots that do not run, including those behind them that the engine has not reached."""
        return {node for event in self.exec_info for node in self._pruned(event)}

    def _pruned(self, event: ev.ExecInfoPopulated) -> set[int]:
        ends = [node for node, why in event.pruned if why == "topological_nr"]
        behind = reached(ends, lambda node: self._known.targets_at(node, event.seq)) - self.nodes
        return {*(node for node, _ in event.pruned), *behind}

    @cached_property
    def captured(self) -> dict[int, list[int]]:
        """The indices in the result of ``grad`` of the gradients captured in each Node's input buffer."""
        found: dict[int, list[int]] = {}
        for event in self.exec_info:
            for node, _, position in event.captures:
                found.setdefault(node, []).append(position)
        return found

    def needs(self, node: int) -> bool:
        """Return whether the engine evaluates the Node."""
        return not self.exec_info or node in self.needed

    def captures(self, node: int) -> list[int]:
        """Return the indices in the result of ``grad`` of the gradients captured in a Node's input buffer."""
        return self.captured.get(node, [])


class Backwards:
    """All backward passes of a trace, by the step at which they started."""

    def __init__(self, events: NodeEvents, targets_at: Callable[[int, int], Iterable[int]]) -> None:
        self.events, self.targets_at = events, targets_at
        self._found: dict[int, Backward] = {}

    def __getitem__(self, start: int) -> Backward:
        found = self.get(start)
        if found is None:
            raise KeyError(start)
        return found

    def __iter__(self) -> Iterator[Backward]:
        """Yield the passes in the order in which they started."""
        return (found for start in self.starts if (found := self.get(start)))

    def get(self, start: int) -> Backward | None:
        """Return the pass that started at a step, or None if there is none or the file is damaged there."""
        if start not in self._found:
            event = self.events.events[start]
            if not isinstance(event, ev.BackwardStarted):
                return None
            self._found[start] = Backward(self, event)
        return self._found[start]

    @cached_property
    def starts(self) -> list[int]:
        """The steps at which the passes started."""
        return list(self.events.of_kind(ev.BackwardStarted))

    def around(self, at: int) -> Backward | None:
        """Return the innermost pass around a step."""
        return next(filter(None, map(self.get, self._starts_within(at))), None)

    def last(self) -> Backward | None:
        """Return the pass that started last."""
        return next(filter(None, map(self.get, reversed(self.starts))), None)

    def under_way(self, at: int) -> Iterator[Backward]:
        """Yield the passes that run at a step. Their own first and last steps count.

        First the passes around the step, innermost first, then those of other threads, latest first.
        """
        own = self._starts_within(at)
        others = (start for start in self._starts_around(at) if start not in own)
        return filter(None, map(self.get, (*own, *others)))

    def ended_last(self, at: int) -> Backward | None:
        """Return the pass that ended last, among those that started at or before a step."""
        place = bisect_right(self.starts, at) - 1
        found = self.get(self._latest_end[place]) if place >= 0 else None
        if found is None:  # rarely: the file may be damaged there
            ends = self.events.columns.ends
            begun = sorted(self.starts[: place + 1], key=lambda start: -ends[start])
            found = next(filter(None, map(self.get, begun)), None)
        return found

    def own(self, start: int, kind: type[ev.Event]) -> list[int]:
        """Return the steps of a kind in a pass, without those of nested passes."""
        columns = self.events.columns
        steps = self.events.between(kind, start, columns.ends[start])
        return [step for step in steps if columns.parents[step] == start or self._starts_within(step)[:1] == [start]]

    def _starts_within(self, at: int) -> list[int]:
        """Return the starts of the passes around a step that are open on its thread, innermost first."""
        columns, code = self.events.columns, self.events.columns.code(ev.BackwardStarted)
        if not 0 <= at < len(self.events):
            return []
        return [step for step in (at, *columns.ancestors(at)) if columns.kinds[step] == code]

    def _starts_around(self, at: int) -> Iterator[int]:
        """Yield the starts of all passes that run at a step, on any thread, latest first."""
        ends, place = self.events.columns.ends, bisect_right(self.starts, at) - 1
        while place >= 0:
            if ends[self.starts[place]] >= at:
                yield self.starts[place]
            place = self._outer[place]

    @cached_property
    def _outer(self) -> list[int]:
        """The place of the last earlier pass that was not yet over, for each pass; -1 if there is none."""
        ends, found = self.events.columns.ends, list[int]()
        for place, start in enumerate(self.starts):
            outer = place - 1
            while outer >= 0 and ends[self.starts[outer]] < start:
                outer = found[outer]
            found.append(outer)
        return found

    @cached_property
    def _latest_end(self) -> list[int]:
        """The pass that ended last among each pass and those before it."""
        ends, found = self.events.columns.ends, list[int]()
        for start in self.starts:
            found.append(found[-1] if found and ends[found[-1]] >= ends[start] else start)
        return found

    @cached_property
    def irregular(self) -> list[int]:
        """The starts of the passes that may leave a counted Node unchanged, because not all Nodes run or an error ends
        the pass.
        """
        parents = self.events.columns.parents
        finished, partial = (
            {parents[step] for step in self.events.of_kind(kind)}
            for kind in (ev.BackwardFinished, ev.ExecInfoPopulated)
        )
        return [start for start in self.starts if start not in finished or start in partial]


def reached(start: Iterable[int], targets: Targets) -> set[int]:
    """Return the Nodes that edges lead to, including the first ones."""
    found, pending = set[int](), list(start)
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending.extend(targets(number))
    return found
