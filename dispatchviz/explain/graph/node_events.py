"""The events of each Node of a trace, and the Nodes by age. They are found by columns and decoded only when needed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Self, TypeVar

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.lookups import StepsByKind

E = TypeVar("E", bound=ev.Event)

MAKING = (
    ev.NodeCreated,
    ev.EdgesCollected,
    ev.AttributeSaved,
    ev.VariableSaved,
    ev.AccumulatorMade,
    ev.HistorySet,
    ev.HistoryRebased,
    ev.SequenceNumberSet,
    ev.ParentAssigned,
)
"""The events that create a Node or save its tensors."""

LIFE = (
    *MAKING,
    ev.DependencyMet,
    ev.NodeQueued,
    ev.NodeSkipped,
    ev.NodeStarted,
    ev.NodeFinished,
    ev.GradientCaptured,
    ev.VariablesReleased,
)
"""The events that change the display of a Node."""

MENTIONS = (
    ev.VariableNotSaved,
    ev.FormulaSkipped,
    ev.HookRan,
    ev.AnomalyFound,
    ev.GradientBuffered,
    ev.UndefinedInputAdded,
    ev.StackStored,
    ev.HookRegistered,
    ev.NodeDeleted,
)
"""The events about a Node that do not change it."""

ABOUT: tuple[type[ev.Event], ...] = (*LIFE, *MENTIONS)

KEPT = 1024
"""The number of Nodes, each at a step, whose engine events are remembered."""

STEPS_KEPT = 65_536
"""The number of Nodes whose steps are remembered."""


class NodeEvents:
    """The events of each Node. It holds no reference to the trace, so it can be kept for as long as the trace lives."""

    def __init__(self, trace: Trace) -> None:
        self.events, self.columns = trace.events, trace.columns
        self._life, self._about = self._codes(LIFE), self._codes(ABOUT)
        self._run = self._life - self._codes(MAKING)
        self._started, self._met = map(self.columns.code, (ev.NodeStarted, ev.DependencyMet))
        self._by_kind = StepsByKind(self.columns, self.columns.of_node)
        self._latest: dict[tuple[int, int], list[int]] = {}
        self._steps: dict[int, Sequence[int]] = {}

    def __len__(self) -> int:
        return len(self.events)

    def steps(self, node: int) -> Sequence[int]:
        """Return the steps of all events that have a Node."""
        found = self._steps.get(node)
        if found is None:
            if len(self._steps) >= STEPS_KEPT:
                self._steps.clear()
            found = self._steps[node] = self.columns.of_node.get(node, ())
        return found

    def of_kind(self, kind: type[ev.Event]) -> Sequence[int]:
        """Return the steps of a kind."""
        return self.columns.steps_of((kind,))

    def between(self, kind: type[ev.Event], first: int, last: int) -> Sequence[int]:
        """Return the steps of a kind from one step to another, both included."""
        steps = self.of_kind(kind)
        return steps[bisect_left(steps, first) : bisect_right(steps, last)]

    def within(self, seq: int, kind: type[E]) -> list[E]:
        """Return the events of a kind directly within another event."""
        parents = self.columns.parents
        inside = [step for step in self.between(kind, seq, self.columns.ends[seq]) if parents[step] == seq]
        return list(self.read(inside, kind))

    def read(self, steps: Iterable[int], kind: type[E]) -> Iterator[E]:
        """Yield the events of some steps. A damaged event has no known kind."""
        return (event for event in map(self.events.__getitem__, steps) if isinstance(event, kind))

    def of_node(self, node: int, kind: type[E]) -> list[E]:
        """Return the events of a kind that have the Node."""
        return list(self.read(self.of_kinds(node, kind), kind))

    def of_kinds(self, node: int, *kinds: type[ev.Event]) -> Sequence[int]:
        """Return the steps of some kinds that have the Node."""
        return self._by_kind.steps(node, *kinds)

    def number_set(self, node: int, at: int) -> ev.SequenceNumberSet | None:
        """Return the event that set a Node's sequence number at a step, or None if it has its original number."""
        return next((event for event in reversed(self.of_node(node, ev.SequenceNumberSet)) if event.seq <= at), None)

    def life(self, node: int) -> Sequence[int]:
        """Return the steps at which a Node changed."""
        return self.of_kinds(node, *LIFE)

    def making(self, node: int) -> Sequence[int]:
        """Return the steps at which a Node was made, or got a tensor."""
        return self.of_kinds(node, *MAKING)

    def last(self, node: int, at: int) -> int:
        """Return the last step up to ``at`` at which a Node changed; -1 if there is none."""
        kinds, life, steps = self.columns.kinds, self._life, self.steps(node)
        place = bisect_right(steps, at) - 1
        while place >= 0 and kinds[steps[place]] not in life:
            place -= 1
        return steps[place] if place >= 0 else -1

    def latest(self, node: int, at: int) -> list[int]:
        """Return the engine's steps of a Node since it last ran, latest first. Nothing before them shows.

        Of the gradients that have arrived only the last one is included, because a leaf may wait for thousands.
        """
        key = node, self.last(node, at)
        found = self._latest.get(key)
        if found is None:
            if len(self._latest) >= KEPT:
                self._latest.clear()
            found = self._latest[key] = self._found_latest(*key)
        return found

    def _found_latest(self, node: int, at: int) -> list[int]:
        kinds, steps, run = self.columns.kinds, self.steps(node), self._run
        met, found = False, list[int]()
        for place in range(bisect_right(steps, at) - 1, -1, -1):
            kind = kinds[step := steps[place]]
            is_met = kind == self._met
            if kind in run and not (is_met and met):
                found.append(step)
            met = met or is_met
            if kind == self._started:
                break
        return found

    @cached_property
    def released(self) -> dict[int, int]:
        """The step at which each Node first released its saved variables."""
        return self._first_of_kind(ev.VariablesReleased)

    @cached_property
    def seen(self) -> tuple[list[int], NodesByAge]:
        """All Nodes in the order in which they first appear: the steps, and the Nodes."""
        groups, kinds = self.columns.of_node, self.columns.kinds
        begun = zip(groups.first_steps, groups.numbers, strict=True)
        firsts = [(step, node) if kinds[step] in self._life else self._first(node) for step, node in begun]
        found = sorted(first for first in firsts if first[0] >= 0)
        return [step for step, _ in found], NodesByAge.of([node for _, node in found])

    def _first(self, node: int) -> tuple[int, int]:
        return next(iter(self.life(node)), -1), node

    def first(self, node: int) -> int:
        """Return the step at which a Node first appears, or a step after the end if it never does."""
        kinds, life, steps = self.columns.kinds, self._life, self.steps(node)
        if steps and kinds[steps[0]] in life:
            return steps[0]
        return next((step for step in steps if kinds[step] in life), len(self))

    def begun(self, at: int) -> bool:
        """Return whether any Node has appeared at a step."""
        return self._begin <= at

    @cached_property
    def _begin(self) -> int:
        """The first step that changes a Node; the number of steps if there is none."""
        return min((steps[0] for kind in LIFE if (steps := self.of_kind(kind))), default=len(self))

    def is_about_node(self, at: int) -> bool:
        """Return whether the event of a step is about one Node."""
        return 0 <= at < len(self) and (self.columns.kinds[at] in self._about or self._accumulator_of(at) is not None)

    def last_node(self, at: int) -> int | None:
        """Return the Node of the last event about a Node."""
        groups = map(self.of_kind, ABOUT)
        last = max((steps[position - 1] for steps in groups if (position := bisect_right(steps, at))), default=-1)
        written = self.of_kind(ev.GradientAccumulated)
        for position in range(bisect_right(written, at) - 1, -1, -1):
            if written[position] < last:
                break
            if (node := self._accumulator_of(written[position])) is not None:
                return node
        return self.columns.nodes[last] if last >= 0 else None

    def _accumulator_of(self, at: int) -> int | None:
        """Return the Node that wrote a gradient at a step, if any: the latest Node made for that leaf."""
        kinds, made = self.columns.kinds, self.columns.code(ev.AccumulatorMade)
        if kinds[at] != self.columns.code(ev.GradientAccumulated):
            return None
        of_tensor = self.columns.of_tensor.get(self.columns.tensors[at], ())
        before = range(bisect_left(of_tensor, at) - 1, -1, -1)
        step = next((of_tensor[place] for place in before if kinds[of_tensor[place]] == made), None)
        return None if step is None else self.columns.nodes[step]

    @cached_property
    def leaf_nodes(self) -> dict[int, int]:
        """The step at which each AccumulateGrad Node was made."""
        return self._first_of_kind(ev.AccumulatorMade)

    def _first_of_kind(self, kind: type[ev.Event]) -> dict[int, int]:
        last_first = self.of_kind(kind)[::-1]
        return dict(zip(map(self.columns.nodes.__getitem__, last_first), last_first, strict=True))

    @cached_property
    def accumulators(self) -> dict[int, int]:
        """The latest Node that accumulates the gradient of each leaf."""
        tensors, nodes = self.columns.tensors, self.columns.nodes
        return {tensors[step]: nodes[step] for step in self.of_kind(ev.AccumulatorMade)}

    def _codes(self, kinds: Iterable[type[ev.Event]]) -> frozenset[int]:
        codes = map(self.columns.code, kinds)
        return frozenset(code for code in codes if code in self.columns.of_kind)


class NodesByAge(Struct, frozen=True):
    """A slice of a list of Nodes."""

    nodes: Sequence[int]
    places: Mapping[int, int]
    """The place of each Node in the whole list."""
    low: int
    high: int

    @classmethod
    def of(cls, nodes: Sequence[int]) -> Self:
        """Return the whole list."""
        return cls(nodes, {node: place for place, node in enumerate(nodes)}, 0, len(nodes))

    def __len__(self) -> int:
        return max(self.high - self.low, 0)

    def __iter__(self) -> Iterator[int]:
        return islice(self.nodes, self.low, max(self.high, self.low))

    def between(self, low: int, high: int) -> NodesByAge:
        """Return the Nodes from one place up to, but not including, another."""
        return NodesByAge(self.nodes, self.places, self.low + low, min(self.low + high, self.high))

    def place(self, node: int | None) -> int | None:
        """Return the place of a Node, or None if it is not in the slice."""
        place = None if node is None else self.places.get(node)
        return place - self.low if place is not None and self.low <= place < self.high else None
