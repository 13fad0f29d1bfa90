"""The engine: the Node that runs, the ready queue in order, who waits for how many gradients, what does not run."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.engine_state import Buffered, EngineState, Ready, Waiting, engine_state
from dispatchviz.explain.sentences.english import counted
from dispatchviz.explain.things.thing import NodeThing
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.tui.panes.next_event import not_yet
from dispatchviz.tui.text.styled_line import Line, line

NO_NUMBER = 2**64 - 1
"""The sequence number of an AccumulateGrad: nothing goes before it."""

PRUNED = {
    "topological_nr": "below all that was requested",
    "should_execute": "leads to nothing that was requested",
}


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The engine within the backward pass around a step, or when there will be one."""
    state = engine_state(trace, at)
    if state is None:
        return [not_yet(trace, at, ev.BackwardStarted, "No backward pass runs here")]
    return [
        _head(state),
        *_running(trace, state, at),
        *_ready(trace, state, at),
        *_waiting(trace, state, at),
        *_pruned(trace, state, at),
    ]


def _head(state: EngineState) -> Line:
    started = state.started
    kind = "backward" if started.accumulate else "grad"
    depth = f", within {counted(started.depth, 'other pass', 'other passes')}" if started.depth else ""
    keeps = "the graph is kept" if started.keep_graph else "the graph is freed as it runs"
    ran = f"{state.ran} of {state.reached} Nodes started" if state.reached else "nothing has been counted yet"
    return line((kind, "bold"), (f"{depth}  {ran}  {keeps}", "dim"), key="ran", value=ran, goto=started.seq)


def _running(trace: Trace, state: EngineState, at: int) -> Iterator[Line]:
    if state.running is not None:
        title = node_title(trace, state.running.node, at)
        yield line(("▶ runs     ", "focus"), (title, "bold"), key="runs", value=title, goto=state.running.seq,
                   about=NodeThing(state.running.node), cut=True)  # fmt: skip


def _ready(trace: Trace, state: EngineState, at: int) -> Iterator[Line]:
    if not state.ready:
        yield line(("Ready queue: empty", "dim"), key="ready", value="empty")
        return
    yield line(("Ready queue, the first one runs next (largest sequence number first):", "dim"))
    for place, ready in enumerate(state.ready, 1):
        yield _queued(trace, ready, place, at)
    if state.more_ready:
        yield line((f"  … {state.more_ready:,} more", "dim"))


def _queued(trace: Trace, ready: Ready, place: int, at: int) -> Line:
    number = ready.queued.sequence_nr
    title = node_title(trace, ready.queued.node, at)
    said = "  always first" if number == NO_NUMBER else f"  seq {number}"
    return line(
        (f"  {place} ", "dim"),
        (title, "name"),
        (f"{said}  {ready.queued.device}", "dim"),
        (_buffer(trace, ready.buffer, at), ""),
        key=f"ready {ready.queued.node}",
        about=NodeThing(ready.queued.node),
        value=str(place),
        cut=True,
    )


def _waiting(trace: Trace, state: EngineState, at: int) -> Iterator[Line]:
    if state.waiting:
        yield line(("Waiting for gradients:", "dim"))
    for waiting in state.waiting:
        yield _waits(trace, waiting, at)


def _waits(trace: Trace, waiting: Waiting, at: int) -> Line:
    return line(
        "  · ",
        (node_title(trace, waiting.node, at), "name"),
        (f"  {waiting.left} of {waiting.count} edges to come", "warning"),
        (_buffer(trace, waiting.buffer, at), ""),
        key=f"waits {waiting.node}",
        about=NodeThing(waiting.node),
        value=f"{waiting.left} of {waiting.count}",
        cut=True,
    )


def _buffer(trace: Trace, buffer: tuple[Buffered, ...], at: int) -> str:
    """What has arrived, by input."""
    names = (f"{each.input_nr}: {tensor_name(trace, each.tensor, at)} {each.how}" for each in buffer)
    return f"  input {', '.join(names)}" if buffer else ""


def _pruned(trace: Trace, state: EngineState, at: int) -> Iterator[Line]:
    if state.pruned:
        yield line(("Not run, since only some gradients are requested:", "dim"))
    for node, why in state.pruned:
        yield line("  × ", (node_title(trace, node, at), "removed"), (f"  {PRUNED[why]}", "dim"), key=f"pruned {node}",
                   about=NodeThing(node), cut=True)  # fmt: skip
    if state.more_pruned:
        yield line((f"  … {state.more_pruned:,} more", "dim"))
