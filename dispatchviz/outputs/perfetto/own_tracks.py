"""Rows that PyTorch's profiler does not have: the program's lines, all dispatches with their keys and kernels, guards,
and the engine's ready queues, as counters and as the time that each Node waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.graph.queued_nodes import queue_device
from dispatchviz.explain.keys.own_numbers import own_shown
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.outputs.perfetto.made_nodes import LARGEST
from dispatchviz.outputs.perfetto.profiler_slices import Slice

LINES, DISPATCHES, KEYS, GUARDS = range(1, 5)
TRACKS = {LINES: "lines", DISPATCHES: "dispatches and kernels", KEYS: "keys", GUARDS: "guards"}
"""The rows besides those of the profiler, for each thread."""


class OwnSlice(NamedTuple):
    """A slice of one of our own rows."""

    track: int
    slice: Slice


class Waits(NamedTuple):
    """The time that a Node waits in a ready queue, from a step to another."""

    begin: int
    end: int
    queue: str
    node: int
    name: str
    sequence_nr: int


class Length(NamedTuple):
    """The number of Nodes in a ready queue from a step on."""

    step: int
    queue: str
    number: int


class OwnTracks:
    """Our own rows. It receives each event in order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._queued: dict[int, tuple[int, str, int]] = {}
        """For each waiting Node: the step since which it waits, its queue, its sequence number."""
        self._names: dict[int, str] = {}
        self._lengths: dict[str, int] = {}

    def see(self, event: ev.AnyEvent, row: int) -> Iterator[OwnSlice | Waits | Length]:
        """Yield the slices that begin at a step, and the waits that end there."""
        match event:
            case ev.SourceLine():
                args = {"file": event.file, "line": event.line, "function": event.function}
                yield self._slice(LINES, event, row, label(self._trace, event.seq), args)
            case ev.Dispatched():
                sets = {"Dispatch key set": own_shown(self._trace.header, event.key_set)}
                text = f"[{event.how}] {event.operator}"
                yield self._slice(DISPATCHES, event, row, text, {"Dispatch key": event.key, **sets})
                yield self._slice(KEYS, event, row, event.key, {"Operator": event.operator, "how": event.how, **sets})
            case ev.KernelEntered():
                sets = {"Dispatch key set": own_shown(self._trace.header, event.key_set)}
                args = {"file": event.pytorch_file, **sets}
                yield self._slice(DISPATCHES, event, row, event.kernel, args)
            case ev.GuardEntered():
                yield self._slice(GUARDS, event, row, event.guard, _changes(self._trace.header, event))
            case ev.NodeCreated():
                self._names[event.node] = event.name
            case ev.NodeQueued():
                yield self._push(event)
            case ev.NodeStarted() | ev.NodeSkipped():
                yield from self._pop(event)

    def _slice(self, track: int, event: ev.AnyEvent, row: int, name: str, args: dict[str, Any]) -> OwnSlice:
        return OwnSlice(track, Slice(event.seq, self._trace.ends[event.seq], row, name, args))

    def _push(self, event: ev.NodeQueued) -> Length:
        queue = queue_device(event.device)
        self._queued[event.node] = event.seq, queue, event.sequence_nr
        return self._length(event.seq, queue, 1)

    def _pop(self, event: ev.NodeStarted | ev.NodeSkipped) -> Iterator[Waits | Length]:
        if event.node in self._queued:
            since, queue, number = self._queued.pop(event.node)
            name = self._names.get(event.node, event.name if isinstance(event, ev.NodeStarted) else f"n{event.node}")
            yield Waits(since, event.seq, queue, event.node, name, -1 if number == LARGEST else number)
            yield self._length(event.seq, queue, -1)

    def _length(self, step: int, queue: str, change: int) -> Length:
        number = self._lengths[queue] = self._lengths.get(queue, 0) + change
        return Length(step, queue, number)


def _changes(header: Header, event: ev.GuardEntered) -> dict[str, str]:
    """Return the changes that a guard makes to the thread-local sets."""
    return {
        "included before": own_shown(header, event.included_before),
        "included": own_shown(header, event.included),
        "excluded before": own_shown(header, event.excluded_before),
        "excluded": own_shown(header, event.excluded),
    }
