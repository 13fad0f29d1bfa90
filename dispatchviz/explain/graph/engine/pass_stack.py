"""Backward passes within each other: which graph task waits in which Node, and on which thread each runs.

A backward that is called while a Node runs is a graph task of its own. It runs in place, on the stack of its caller;
when ``MAX_DEPTH`` of them stand on one thread, the next one gets a thread of the engine's pool and its caller waits
(``Engine::execute_with_graph_task``).
"""

from __future__ import annotations

from dataclasses import dataclass

from dispatchviz.core.autograd.engine.thread_pool import MAX_DEPTH
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.trace_index.enclosing_steps import around, at_or_around, source_line

CPU_DEVICE = -1
"""``worker_device`` of a thread that calls backward (``torch/csrc/autograd/graph_task.h``)."""


@dataclass(frozen=True, slots=True)
class OpenPass:
    """A graph task that is not complete."""

    started: ev.BackwardStarted
    within: ev.NodeStarted | None
    """The Node during whose run it was called; None of an outermost one, and of one that a hook of a Node that only
    gives its gradient called, or a final callback."""
    line: int
    """The program's line that called it; 0 if no line did."""

    @property
    def pool_thread(self) -> int:
        """Which thread of the pool it runs on, from 1; 0: the stack that the outermost pass runs on."""
        return self.started.depth // (MAX_DEPTH + 1)

    @property
    def owner(self) -> int:
        """``owner_``: the device whose thread called it; that of an outermost one is the caller's own."""
        index = "" if self.within is None else self.within.device.partition(":")[2]
        return int(index) if index.isdigit() else CPU_DEVICE


def open_passes(trace: Trace, at: int) -> list[OpenPass]:
    """The backward passes that a step is within, the outermost first; its own first and last steps count."""
    innermost = at_or_around(trace, at, ev.BackwardStarted)
    if innermost is None:
        return []
    outer = (event for event in trace.ancestors(innermost.seq) if isinstance(event, ev.BackwardStarted))
    return [_open(trace, started) for started in (innermost, *outer)][::-1]


def elsewhere(trace: Trace, at: int) -> list[ev.BackwardStarted]:
    """The passes that other threads run meanwhile, each the innermost of its thread, the latest first."""
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
