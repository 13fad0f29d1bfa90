"""Nested backward passes: the Node in which each graph task waits, and the thread that runs it.

A backward pass that is called while a Node runs is a separate graph task. It runs on the stack of its caller. When
``MAX_DEPTH`` passes are nested on one thread, the next one gets a thread of the engine's pool and its caller waits
(``Engine::execute_with_graph_task``).
"""

from __future__ import annotations

from msgspec import Struct

from dispatchviz.core.autograd.engine.thread_pool import MAX_DEPTH
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.trace_index.enclosing_steps import around, at_or_around, source_line

CPU_DEVICE = -1
"""``worker_device`` of a thread that calls backward (``torch/csrc/autograd/graph_task.h``)."""


class OpenPass(Struct, frozen=True):
    """A graph task that is not complete."""

    started: ev.BackwardStarted
    within: ev.NodeStarted | None
    """The Node during whose run it was called. None for an outermost pass, and for one that was called by a final
    callback or by a hook of a Node that only captures its gradient.
    """
    line: int
    """The line of the program that called it; 0 if no line did."""

    @property
    def pool_thread(self) -> int:
        """The number of the pool thread that it runs on, from 1; 0 for the stack of the outermost pass."""
        return self.started.depth // (MAX_DEPTH + 1)

    @property
    def owner(self) -> int:
        """``owner_``: the device whose thread called it. For an outermost pass, the caller's own."""
        index = "" if self.within is None else self.within.device.partition(":")[2]
        return int(index) if index.isdigit() else CPU_DEVICE


def open_passes(trace: Trace, at: int) -> list[OpenPass]:
    """Return the backward passes around a step, outermost first. Their own first and last steps count."""
    innermost = at_or_around(trace, at, ev.BackwardStarted)
    if innermost is None:
        return []
    outer = (event for event in trace.ancestors(innermost.seq) if isinstance(event, ev.BackwardStarted))
    return [_open(trace, started) for started in (innermost, *outer)][::-1]


def elsewhere(trace: Trace, at: int) -> list[ev.BackwardStarted]:
    """Return the passes that other threads run at the same time: the innermost one of each thread, latest first."""
    own = {each.started.seq for each in open_passes(trace, at)}
    found, around_others = list[ev.BackwardStarted](), set[int]()
    for backward in history(trace).backwards.under_way(at):
        if backward.event.seq not in own and backward.event.seq not in around_others:
            found.append(backward.event)
            around_others.update(trace.columns.ancestors(backward.event.seq))
    return found


def _open(trace: Trace, started: ev.BackwardStarted) -> OpenPass:
    node, outer = around(trace, started.seq, ev.NodeStarted), around(trace, started.seq, ev.BackwardStarted)
    line = source_line(trace, started.seq)
    within = node if node is not None and outer is not None and node.seq > outer.seq else None
    return OpenPass(started, within, 0 if line is None else line.line)
