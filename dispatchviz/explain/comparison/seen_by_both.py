"""What of a trace can be seen both by the model and by a recorder of an installed PyTorch (``dispatchviz/live``).

``seen_by_both`` makes of a trace another one, that has only such events, each at the place where both have it: a tensor
appears where a call first takes or returns it, a Node when the autograd kernel that made it has returned or an edge
leads to it, a guard around the call that a kernel makes with other thread-local sets than its own. Numbers of tensors,
storages and Nodes are counted anew, in the order in which these events name them.

Not seen in an installed PyTorch, and left out: Python's bindings, meta and impl of structured kernels, boxing, the
engine's counts and queues, version counters, hooks. Left out as well: what formats a tensor as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.first_mentions import FirstMentions
from dispatchviz.explain.comparison.met_nodes import MetNodes

KEPT = (
    ev.SourceLine, ev.Dispatched, ev.KeySetComputed, ev.FallthroughSkipped, ev.KernelSelected, ev.KernelEntered,
    ev.KernelReturned, ev.BackwardStarted, ev.BackwardFinished, ev.NodeStarted, ev.GradientAccumulated, ev.Printed,
    ev.ProgramRaised, ev.NameBound,
)  # fmt: skip
"""Kinds of events that both tell."""

TYPED: dict[str, Any] = {"callBoxed": "call", "redispatchBoxed": "redispatch"}
"""Whether a call's arguments were on a stack is not seen."""


def seen_by_both(trace: Trace) -> SeenByBoth:
    """What both can see of a trace."""
    view = _View(trace)
    for event in trace.events:
        view.add(event)
    return SeenByBoth(trace, tuple(view.events), tuple(view.steps))


class SeenByBoth(Trace):
    """A trace of such events; ``steps`` has of each the step of the whole trace that it is, or that it is told at."""

    steps: tuple[int, ...]

    def __init__(self, whole: Trace, events: tuple[ev.AnyEvent, ...], steps: tuple[int, ...]) -> None:
        super().__init__(whole.header, events)
        vars(self).update(steps=steps)


class _View:
    """Takes the events of a trace one after another."""

    def __init__(self, trace: Trace) -> None:
        self.events: list[ev.AnyEvent] = []
        self.steps: list[int] = []
        self._nodes = MetNodes(trace.events)
        self._tensors = FirstMentions()
        self._around: dict[int, int | None] = {}
        """Of each event of the trace the event here that others within it are within."""
        self._kernel: dict[int, int | None] = {}
        """Of each event the KernelEntered that it is in."""
        self._sets: dict[int, ev.GuardEntered | None] = {}
        """Of each event the change of the thread's sets since the kernel began that it is in."""
        self._formatted: set[int] = set()
        self._histories: dict[int, list[ev.HistorySet | ev.HistoryRebased]] = {}
        """Of each kernel that runs, which results got which Node."""

    def add(self, event: ev.AnyEvent) -> None:
        """The next one."""
        seq, parent = event.seq, event.parent
        if isinstance(event, ev.TensorFormatted) or parent in self._formatted:
            self._formatted.add(seq)
        around = None if parent is None else self._around.get(parent)
        self._around[seq] = around
        self._kernel[seq] = seq if isinstance(event, ev.KernelEntered) else self._of(self._kernel, parent)
        self._sets[seq] = self._changed_sets(event)
        self._tensors.follow(event)
        if isinstance(event, (ev.HistorySet, ev.HistoryRebased)):
            self._got_history(event)
        elif seq not in self._formatted and isinstance(event, KEPT):
            self._keep(event, around)

    @staticmethod
    def _of(known: dict[int, Any], parent: int | None) -> Any:
        return None if parent is None else known.get(parent)

    def _changed_sets(self, event: ev.AnyEvent) -> ev.GuardEntered | None:
        """One guard in the place of all since the kernel began; a kernel begins with the sets of its call."""
        if isinstance(event, ev.KernelEntered):
            return None
        outer: ev.GuardEntered | None = self._of(self._sets, event.parent)
        if not isinstance(event, ev.GuardEntered):
            return outer
        if outer is None:
            return event
        return replace(event, included_before=outer.included_before, excluded_before=outer.excluded_before)

    def _got_history(self, event: ev.HistorySet | ev.HistoryRebased) -> None:
        kernel = self._of(self._kernel, event.parent)
        if kernel is not None:
            self._histories.setdefault(kernel, []).append(event)

    def _keep(self, event: ev.AnyEvent, around: int | None) -> None:
        seq = event.seq
        for before in self._before(event):
            self._emit(before, around, seq)
        if isinstance(event, ev.Dispatched):
            around = self._guarded(event, around)
        for told in self._told(event):
            self._around[seq] = self._emit(told, around, seq)

    def _emit(self, event: ev.AnyEvent, around: int | None, step: int) -> int:
        """Adds an event, behind the tensors that it is the first to name; gives its number."""
        for one in self._tensors.named_in(event):
            number = len(self.events)
            self.events.append(replace(one, seq=number, parent=around))
            self.steps.append(step)
        number = len(self.events)
        renumbered = self._tensors.renumbered(event)
        self.events.append(replace(renumbered, seq=number, parent=around))
        self.steps.append(step)
        return number

    def _before(self, event: ev.AnyEvent) -> Iterator[ev.AnyEvent]:
        """The Nodes that can be seen from here on."""
        if isinstance(event, ev.KernelReturned):
            for history in self._histories.pop(event.parent if event.parent is not None else -1, ()):
                yield from self._nodes.met(history.node, with_members=True)
                yield history
        elif isinstance(event, ev.BackwardStarted):
            for node, _ in (*event.roots, *event.inputs):
                yield from self._nodes.met(node)

    def _guarded(self, event: ev.Dispatched, around: int | None) -> int | None:
        """The event that a call is within: the guard around it, if a kernel calls with other sets than its own."""
        guard = self._of(self._sets, event.parent)
        if guard is None or self._of(self._kernel, event.parent) is None:
            return around
        before, now = (guard.included_before, guard.excluded_before), (guard.included, guard.excluded)
        return around if before == now else self._emit(guard, around, guard.seq)

    def _told(self, event: ev.AnyEvent) -> Iterator[ev.AnyEvent]:
        """An event without what only one of both can tell."""
        match event:
            case ev.Dispatched():
                yield replace(event, how=TYPED.get(event.how, event.how))
            case ev.SourceLine():
                yield replace(event, caller=None)
            case ev.KernelEntered():
                yield replace(event, file="", line=0, end_line=0)
            case ev.NodeStarted():
                yield replace(event, waiting=None, file="", line=0, end_line=0)
            case ev.GradientAccumulated():
                yield replace(event, why="")
            case ev.BackwardFinished():
                return
            case ev.NameBound():
                if self._tensors.is_known(event.tensor):
                    yield event
            case _:
                yield event
