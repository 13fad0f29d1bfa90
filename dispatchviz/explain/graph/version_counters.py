"""The Nodes that saved a version of a tensor, and the step that changed it: "modified by an inplace operation".

A saved tensor is valid as long as its version counter has the version at which it was saved. Every answer here is known
at the step that writes in place, long before a backward pass raises.

PyTorch compares no version for a tensor that a hook has packed or a Node has released, so neither is listed. It cannot
detect writes that bump another counter, such as ``x.data.add_(1)``. Old traces without counters have no answers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.trace_index import index

Change = ev.VersionBumped | ev.RequiresGradSet


Found = tuple[list[ev.VariableSaved], list[ev.VariableSaved]]
"""The variables that a change invalidates, and those that were packed at the version before it."""

FEW = 64
"""The number of variables that are looked at without remembering which of them are still held."""

KEPT = 4096
"""The number of changes whose answers are remembered."""


class _Versions:
    """The saved variables and the writes of a trace, found through its columns. It holds no reference to the trace
    itself.

    A change is compared with the variables saved before it that still exist; a Node with the changes during its life.
    """

    def __init__(self, trace: Trace) -> None:
        self._events, self._columns = trace.events, trace.columns
        self._index = index(trace)
        self._saved, self._bumped = trace.steps_of(ev.VariableSaved), trace.steps_of(ev.VersionBumped)
        self._answers: dict[int, Found] = {}
        self._last_held: tuple[int, list[int]] = 0, []
        """A step, and the steps of the variables held before it."""

    def by(self, change: Change) -> Found:
        """Return the variables that a change invalidates, and those that were packed at the version before it."""
        found = self._answers.get(change.seq)
        if found is None:
            if len(self._answers) >= KEPT:
                self._answers.clear()
            found = self._answers[change.seq] = (
                self._of_bump(change) if isinstance(change, ev.VersionBumped) else (self._of_detaching(change), [])
            )
        return found

    def of(self, node: int, at: int) -> list[tuple[ev.VariableSaved, Change]]:
        """Return a Node's invalidated saved variables at a step, each with the change. Earlier changes come first."""
        found = list[tuple[ev.VariableSaved, Change]]()
        kinds, code = self._columns.kinds, self._columns.code(ev.VariableSaved)
        for step in self._columns.of_node.get(node, ()):
            saved = self._events[step] if kinds[step] == code and step <= at else None
            if isinstance(saved, ev.VariableSaved) and saved.tensor is not None and saved.counter >= 0:
                found.extend((saved, change) for change in self._changes_of(saved, at))
        return sorted(found, key=lambda pair: (pair[1].seq, pair[0].seq))

    # -- from a change to saved variables -----------------------------------------------------------------------------

    def _of_bump(self, change: ev.VersionBumped) -> Found:
        """Return the variables at the version just before a change. An earlier change invalidated older versions."""
        valid, packed = list[ev.VariableSaved](), list[ev.VariableSaved]()
        if change.counter < 0:
            return valid, packed
        for saved in self._saved_before(change.seq, self._since(change.tensor)):
            if saved.counter == change.counter and saved.version == change.before:
                if saved.packed or self._packed(saved, change.seq):
                    packed.append(saved)
                else:
                    valid.append(saved)
        return valid, packed

    def _of_detaching(self, change: ev.RequiresGradSet) -> list[ev.VariableSaved]:
        """Return the variables saved as an input of a tensor that had a history until now."""
        if not change.detached:
            return []
        since = self._last_detached(change.tensor, change.seq)
        steps = self._steps_of_tensor(change.tensor, ev.VariableSaved, since, change.seq)
        saved = (event for event in map(self._events.__getitem__, steps) if isinstance(event, ev.VariableSaved))
        inputs = [each for each in saved if each.counter >= 0 and self._is_input(each, since)]
        return [each for each in inputs if not self._gone(each, change.seq)]

    def _since(self, tensor: int) -> int:
        """Return the step at which the first tensor on a tensor's memory appeared. Its version counter is no older."""
        made = self._index.tensors.get(tensor)
        on_memory = () if made is None else self._columns.of_storage.get(made.storage, ())
        if not len(on_memory):
            return 0
        first = self._columns.tensors[on_memory[0]]
        return min(self._columns.of_tensor.get(each, (0,))[0] for each in (tensor, first))

    def _saved_before(self, at: int, since: int) -> Iterator[ev.VariableSaved]:
        """Yield the variables saved from a step on by Nodes that have not released them, in order."""
        some: Sequence[int] = self._saved[bisect_left(self._saved, since) : bisect_left(self._saved, at)]
        if len(some) > FEW:
            all_held = self._held_before(at)
            some = all_held[bisect_left(all_held, since) :]
        for step in self._held(some, at):
            event = self._events[step]
            if isinstance(event, ev.VariableSaved) and event.tensor is not None:
                yield event

    def _held_before(self, at: int) -> list[int]:
        """Return the steps of all variables saved before a step that are still held. Those of an earlier step are kept,
        because a log asks for later and later steps.
        """
        last, held = self._last_held
        if at < last:
            last, held = 0, []
        held += self._saved[bisect_left(self._saved, last) : bisect_left(self._saved, at)]
        self._last_held = at, list(self._held(held, at))
        return self._last_held[1]

    def _held(self, saved: Iterable[int], at: int) -> Iterator[int]:
        """Yield the steps among some whose Nodes have not released the variables."""
        nodes, released = self._columns.nodes, self._released
        return (step for step in saved if not _between(released.get(nodes[step], ()), step, at))

    # -- from saved variables to changes ------------------------------------------------------------------------------

    def _changes_of(self, saved: ev.VariableSaved, at: int) -> Iterator[Change]:
        """Yield the changes that invalidate a variable: the first change of its counter, and a detach of its tensor."""
        if saved.packed or self._gone(saved, at):
            return
        if (bump := self._bumped_between(saved, at + 1)) is not None and bump.before == saved.version:
            yield bump
        since = self._last_detached(saved.tensor, saved.seq)
        if self._is_input(saved, since):
            for step in self._steps_of_tensor(saved.tensor, ev.RequiresGradSet, saved.seq, at + 1):
                event = self._events[step]
                if isinstance(event, ev.RequiresGradSet) and event.detached:
                    yield event
                    break

    def _bumped_between(self, saved: ev.VariableSaved, before: int) -> ev.VersionBumped | None:
        """Return the first change of its counter after it was saved and before another step."""
        for place in range(bisect_right(self._bumped, saved.seq), bisect_left(self._bumped, before)):
            event = self._events[self._bumped[place]]
            if isinstance(event, ev.VersionBumped) and event.counter == saved.counter:
                return event
        return None

    def _is_input(self, saved: ev.VariableSaved, since: int) -> bool:
        """Return whether the variable is kept with its history, so that unpacking reads its ``grad_fn``."""
        if saved.is_output or saved.packed:
            return False
        kinds = ev.HistorySet, ev.HistoryRebased
        return any(self._steps_of_tensor(saved.tensor, kind, since, saved.seq) for kind in kinds)

    def _last_detached(self, tensor: int | None, before: int) -> int:
        """Return the step at which a tensor last lost its history; -1 if it never did."""
        for step in reversed(self._steps_of_tensor(tensor, ev.RequiresGradSet, -1, before)):
            event = self._events[step]
            if isinstance(event, ev.RequiresGradSet) and event.detached:
                return step
        return -1

    def _steps_of_tensor(self, tensor: int | None, kind: type[ev.Event], after: int, before: int) -> list[int]:
        steps, code = self._columns.of_tensor.get(-1 if tensor is None else tensor, ()), self._columns.code(kind)
        few = steps[bisect_right(steps, after) : bisect_left(steps, before)]
        return [step for step in few if self._columns.kinds[step] == code]

    # -- former state -------------------------------------------------------------------------------------------------

    def _gone(self, saved: ev.VariableSaved, at: int) -> bool:
        """Return whether the variable was released or packed after it was saved, up to a step."""
        return _between(self._released.get(saved.node, ()), saved.seq, at + 1) or self._packed(saved, at + 1)

    def _packed(self, saved: ev.VariableSaved, before: int) -> bool:
        """Return whether a hook packed it after it had been saved."""
        steps = self._hooks_of.get(saved.node, ())
        hooks = map(self._events.__getitem__, steps[bisect_right(steps, saved.seq) : bisect_left(steps, before)])
        return any(
            isinstance(hook, ev.SavedTensorHookRan) and hook.kind == "pack hook" and hook.name == saved.name
            for hook in hooks
        )

    @cached_property
    def _released(self) -> dict[int, list[int]]:
        """The steps at which each Node released its saved variables."""
        return self._by_node(ev.VariablesReleased)

    @cached_property
    def _hooks_of(self) -> dict[int, list[int]]:
        """The steps at which hooks packed or unpacked the saved variables of each Node."""
        return self._by_node(ev.SavedTensorHookRan)

    def _by_node(self, kind: type[ev.Event]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for step in self._columns.of_kind.get(self._columns.code(kind), ()):
            found[self._columns.nodes[step]].append(step)
        return dict(found)


def _between(steps: Sequence[int], after: int, before: int) -> bool:
    """Return whether one of some steps is after one and before another."""
    place = bisect_right(steps, after)
    return place < len(steps) and steps[place] < before


_known: WeakKeyDictionary[Trace, _Versions] = WeakKeyDictionary()


def _versions(trace: Trace) -> _Versions:
    found = _known.get(trace)
    if found is None:
        found = _known[trace] = _Versions(trace)
    return found


def invalidated_by(trace: Trace, event: Change) -> Sequence[ev.VariableSaved]:
    """Return the saved variables that this change invalidates. Unpacking them is an error."""
    return _versions(trace).by(event)[0]


def invalidated_of(trace: Trace, node: int, at: int) -> Sequence[tuple[ev.VariableSaved, Change]]:
    """Return a Node's invalidated saved variables at a step, each with the change."""
    return _versions(trace).of(node, at)


def undetected_by(trace: Trace, event: Change) -> Sequence[ev.VariableSaved]:
    """Return the variables that hooks packed at the version before this change. That version is not compared."""
    return _versions(trace).by(event)[1]


def by_checkpoint(trace: Trace, saved: ev.VariableSaved) -> bool:
    """Return whether the hook that packed a tensor belongs to ``torch.utils.checkpoint``."""
    before = trace[saved.seq - 1] if saved.packed and saved.seq else None
    return isinstance(before, ev.SavedTensorHookRan) and before.packed == "_Holder"
