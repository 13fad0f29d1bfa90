"""A graph task at a step: each member of PyTorch's struct with its value and purpose, and its final callbacks.

``task_progress.py`` derives the remaining edges and outstanding tasks. Members that no event records have only a
purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.engine.pass_stack import CPU_DEVICE, open_passes
from dispatchviz.explain.graph.engine.task_progress import progress
from dispatchviz.explain.graph.graph_history import backward_around
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.foundation.english import listed

GRAPH_TASK = "torch/csrc/autograd/graph_task.h"


class TaskMember(NamedTuple):
    """A member of ``GraphTask``, or a function of it without arguments."""

    name: str
    value: str
    """The value at the step; empty if the trace does not have it."""
    purpose: str
    goto: int | None = None
    """The step that set the value."""


PURPOSES = (
    TaskMember("leaf_streams", "", "the streams that wrote leaves or captured gradients"),
    TaskMember(
        "caller_current_streams_",
        "",
        "the current stream of each device when execute() was called; they wait for leaf_streams",
    ),
    TaskMember("has_error_", "", "set by the first exception; Nodes queued later do not run"),
    TaskMember("exit_on_error_", "", "complete the task at the first exception; used by distributed autograd"),
    TaskMember("future_completed_", "", "makes sure that only one thread completes the task"),
    TaskMember("future_result_", "", "the future that execute() waits for: the captured gradients, or the exception"),
    TaskMember(
        "mutex_",
        "",
        "guards not_ready_, dependencies_, captured_vars_ and leaf_streams, which the device threads share",
    ),
    TaskMember("final_callbacks_lock_", "", "guards final_callbacks_, to which any thread may append"),
    TaskMember(
        "warning_handler_", "", "collects the warnings of other threads; the caller's thread raises them at the end"
    ),
)


def graph_task_card(trace: Trace, at: int) -> list[TaskMember]:
    """Return all members; none outside a backward pass."""
    backward = backward_around(trace, at)
    if backward is None:
        return []
    return [
        *_requested(trace, backward, at),
        *_progress(trace, backward, at),
        *_found(trace, backward, at),
        _callbacks(trace, backward, at),
        *_place(trace, at),
        *PURPOSES,
    ]


def _requested(trace: Trace, backward: Backward, at: int) -> Iterator[TaskMember]:
    started = backward.event
    keeps = "saved variables are kept" if started.keep_graph else "a Node releases its saved variables after it has run"
    yield TaskMember("keep_graph_", _flag(started.keep_graph), f"retain_graph: {keeps}", started.seq)
    mode = "on" if started.create_graph else "off"
    yield TaskMember(
        "thread_locals_",
        f"grad mode {mode}",
        "the caller's key sets and modes, which apply to every Node; grad mode is create_graph",
        started.seq,
    )
    roots = [node_title(trace, node, at) for node, _ in dict.fromkeys(started.roots)]
    yield TaskMember(
        "graph_roots_",
        _few(roots),
        "where the gradients enter; if there are several, GraphRoot passes each one its gradient",
        started.seq,
    )


def _progress(trace: Trace, backward: Backward, at: int) -> Iterator[TaskMember]:
    known = progress(backward, trace.columns.nodes.__getitem__)
    pending, outstanding = known.pending(at), known.outstanding(at)
    yield TaskMember(
        "outstanding_tasks_", str(outstanding), "Nodes that are queued or running; at 0 the task is complete"
    )
    left = f"{_many(pending.nodes, 'Node')}, {_many(pending.edges, 'edge')}"
    counted = backward.counted_at(at)
    yield TaskMember(
        "dependencies_",
        left,
        "for each Node, the edges that have not yet delivered a gradient; at 0 the Node is ready",
        _seq(counted),
    )
    yield TaskMember(
        "not_ready_", _many(pending.parked, "buffer"), "the input buffers of Nodes that wait for more gradients"
    )
    if backward.event.accumulate:
        yield TaskMember("captured_vars_", "empty", "what grad() returns; backward() returns nothing")
    else:
        taken = f"{known.captured(at)} of {len(backward.event.inputs)}"
        yield TaskMember("captured_vars_", taken, "what grad() returns")


def _found(trace: Trace, backward: Backward, at: int) -> Iterator[TaskMember]:
    counted, populated = backward.counted_at(at), backward.exec_info_at(at)
    there = str(len(backward.counts)) if counted else "empty so far"
    yield TaskMember(
        "nodes_in_graph_", there, "all Nodes that an edge led to when dependencies were counted", _seq(counted)
    )
    if populated is None:
        later = bool(backward.event.inputs)
        purpose = (
            "filled next, because only some gradients are requested" if later else "every Node that is reached runs"
        )
        yield TaskMember("exec_info_", "empty", purpose)
    else:
        entries = f"{len(populated.needed)} needed_, {_many(len(populated.captures), 'capture')}"
        yield TaskMember("exec_info_", entries, "only Nodes with should_execute() are reached", populated.seq)
    whole = not backward.event.inputs
    yield TaskMember(
        "can_checkpoint()", _flag(whole), "true if exec_info_ is empty; reentrant checkpointing raises otherwise"
    )


def _callbacks(trace: Trace, backward: Backward, at: int) -> TaskMember:
    queued = final_callbacks(trace, backward, at)
    step = queued[-1].queued if queued else None
    purpose = "run when no task is outstanding; queue_callback appends one"
    return TaskMember("final_callbacks_", str(len(queued)) if queued else "empty", purpose, step)


def _place(trace: Trace, at: int) -> Iterator[TaskMember]:
    here = open_passes(trace, at)[-1]
    owner = f"CPU_DEVICE ({CPU_DEVICE})" if here.owner == CPU_DEVICE else str(here.owner)
    yield TaskMember("owner_", owner, "worker_device of the calling thread, which works until the task is complete")
    outer = "the number of graph tasks that this one is nested in"
    yield TaskMember("reentrant_depth_", str(here.started.depth), outer, here.started.seq)
    queue = "the queue of CPU Nodes; nested passes on one thread share it"
    yield TaskMember("cpu_ready_queue_", "the calling thread's", queue)
    number = f"graph task {here.started.graph_task}"
    yield TaskMember("id_", number, "PyTorch counts graph tasks per process; a trace counts from 0", here.started.seq)


def _seq(event: ev.Event | None) -> int | None:
    return None if event is None else event.seq


def _many(number: int, what: str) -> str:
    """Return a number with its noun: ``3 Nodes``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _flag(value: bool) -> str:
    """Return a bool as C++ writes it."""
    return "true" if value else "false"


FEW = 3
"""The number of roots that are named."""


def _few(names: list[str]) -> str:
    more = len(names) - FEW
    return listed(names) if more <= 0 else f"{', '.join(names[:FEW])} and {more} more"


E = TypeVar("E", ev.FinalCallbackQueued, ev.FinalCallbackCalled)


class FinalCallback(Struct, frozen=True):
    """A final callback, in the order in which they run."""

    function: str
    queued: int
    """The step that queued it."""
    called: int | None
    """The step at which it ran, or None if it has not run."""


def final_callbacks(trace: Trace, backward: Backward, at: int) -> list[FinalCallback]:
    """Return the final callbacks of a pass."""
    called = {event.position: event.seq for event in _events(trace, backward, ev.FinalCallbackCalled, at)}
    queued = _events(trace, backward, ev.FinalCallbackQueued, at)
    return [FinalCallback(event.function, event.seq, called.get(event.position)) for event in queued]


def _events(trace: Trace, backward: Backward, kind: type[E], at: int) -> Iterator[E]:
    events = (trace[step] for step in backward.steps(kind) if step <= at)
    return (event for event in events if isinstance(event, kind))
