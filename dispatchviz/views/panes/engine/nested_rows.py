"""Nested backward passes, final callbacks and streams."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.autograd.engine.thread_pool import MAX_DEPTH
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.engine.graph_task import FinalCallback, final_callbacks
from dispatchviz.explain.graph.engine.node_streams import NodeStreams, node_streams
from dispatchviz.explain.graph.engine.pass_stack import OpenPass, open_passes
from dispatchviz.explain.kinds.stream import stream_name
from dispatchviz.explain.locations.pytorch_locations import ENGINE
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.views.panes.engine.section import FEW, MANY, Section, more
from dispatchviz.views.text.styled_line import Line, line


def nested_section(trace: Trace, at: int, is_open: bool) -> Section | None:
    """The section on nested passes; None without an enclosing pass."""
    passes = open_passes(trace, at)
    if len(passes) < 2:
        return None
    here, outer = passes[-1], passes[-2]
    where = "" if here.within is None else f" in {node_title(trace, here.within.node, at)}"
    said = f"graph task {here.started.graph_task}, depth {here.started.depth}{where} of graph task {_task(outer)}"
    return Section("Reentrant", ((said, ""),), lambda: _stack(trace, passes, at), is_open, here.started.seq)


def _task(each: OpenPass) -> int:
    return each.started.graph_task


def _stack(trace: Trace, passes: list[OpenPass], at: int) -> Iterator[Line]:
    shown = passes if len(passes) <= MANY else [*passes[:2], *passes[2 - MANY :]]
    for place, each in enumerate(shown):
        if place == 2 and len(shown) < len(passes):
            yield from more(len(passes) - len(shown))
        yield _pass(trace, each, shown[place + 1] if place + 1 < len(shown) else None, at)
    said = (
        f"A nested pass runs on the caller's stack. Beyond {MAX_DEPTH} (MAX_DEPTH) on one thread, a pool thread runs it"
    )
    yield line((f"  {said}", "dim"), indent=4)


def _pass(trace: Trace, each: OpenPass, inner: OpenPass | None, at: int) -> Line:
    started = each.started
    kind = "backward" if started.accumulate else "grad"
    called = f", called on line {each.line}" if each.line else ""
    thread = f", pool thread {each.pool_thread}" if each.pool_thread else ""
    sign = "▶" if inner is None else "·"
    state = "runs" if inner is None else _waits(trace, inner, at)
    return line(f"  {sign} graph task {started.graph_task}  depth {started.depth}  {state}",
                (f"  {kind}{called}{thread}", "dim"), goto=started.seq, cut=True)  # fmt: skip


def _waits(trace: Trace, inner: OpenPass, at: int) -> str:
    """The state of a pass around another one."""
    return "waits" if inner.within is None else f"waits in {node_title(trace, inner.within.node, at)}"


def callbacks_section(trace: Trace, backward: Backward, at: int, is_open: bool) -> Section | None:
    """The section on final callbacks; None if none was queued."""
    found = final_callbacks(trace, backward, at)
    if not found:
        return None
    called = sum(each.called is not None for each in found)
    said = f"{len(found)} queued, {called} called"
    return Section("Final callbacks", ((said, ""),), lambda: _callbacks(found), is_open, found[-1].queued)


def _callbacks(found: list[FinalCallback]) -> Iterator[Line]:
    for place, each in enumerate(found[:MANY], 1):
        state = "pending" if each.called is None else "called"
        yield line((f"  {place} ", "dim"), (each.function, "name"), (f"  {state}", "dim"),
                   goto=each.queued if each.called is None else each.called, cut=True)  # fmt: skip
    yield from more(len(found) - MANY)
    yield line(
        ("  They run in this order once no Node is queued or running. A callback may queue more", "dim"), indent=4
    )


def streams_section(
    trace: Trace, backward: Backward, node: ev.NodeStarted | None, at: int, is_open: bool
) -> Section | None:
    """The section on streams; None if nothing is on an accelerator."""
    found = node_streams(trace, backward, node, at, MANY if is_open else FEW)
    if found.current is None and not found.number and not is_stream_event(trace[at]):
        return None
    runs = "" if found.current is None else f"the Node runs on {stream_name(found.current)}, "
    times = f"{found.number} wait{'' if found.number == 1 else 's'} so far"
    return Section("Streams", ((f"{runs}{times}", ""),), lambda: _streams(found), is_open, found.changed)


def is_stream_event(event: ev.AnyEvent) -> bool:
    """Return whether a step is about streams."""
    return isinstance(event, ev.StreamChanged | ev.StreamEventRecorded | ev.StreamWaited | ev.MemoryUsedOnStream)


RULES = (
    "A Node runs on the stream that was current in its forward (Node::stream).",
    "If a gradient comes from another stream, the stream that uses it waits for an event of that stream.",
    "At the end, before the final callbacks, the caller's streams wait for the streams that wrote leaf gradients.",
)


def _streams(found: NodeStreams) -> Iterator[Line]:
    for waited in found.waits:
        yield line("  · ", (stream_name(waited.stream), "name"), f" waits for {stream_name(waited.recorded_on)}",
                   (f"  {waited.why}", "dim"), goto=waited.seq, cut=True)  # fmt: skip
    yield from more(found.number - len(found.waits))
    for rule in RULES:
        yield line((f"  {rule}", "dim"), indent=4)
    yield line((f"  {ENGINE}, input_buffer.cpp", "dim"))
