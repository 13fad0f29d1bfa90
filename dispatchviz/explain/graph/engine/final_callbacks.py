"""Final callbacks of a graph task as of a step: which are queued, and which have been called.

``Engine::queue_callback``, in Python ``Variable._execution_engine.queue_callback``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward

E = TypeVar("E", ev.FinalCallbackQueued, ev.FinalCallbackCalled)


@dataclass(frozen=True, slots=True)
class FinalCallback:
    """One of them, in the order in which they run."""

    function: str
    queued: int
    """The step that queued it."""
    called: int | None
    """The step at which it ran; None if it has not."""


def final_callbacks(trace: Trace, backward: Backward, at: int) -> list[FinalCallback]:
    """Those of a pass."""
    called = {event.position: event.seq for event in _events(trace, backward, ev.FinalCallbackCalled, at)}
    queued = _events(trace, backward, ev.FinalCallbackQueued, at)
    return [FinalCallback(event.function, event.seq, called.get(event.position)) for event in queued]


def _events(trace: Trace, backward: Backward, kind: type[E], at: int) -> Iterator[E]:
    events = (trace[step] for step in backward.steps(kind) if step <= at)
    return (event for event in events if isinstance(event, kind))
