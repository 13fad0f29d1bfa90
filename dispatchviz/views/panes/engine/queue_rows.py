"""The ready queues: the Nodes that wait, and the numbers that decide their order."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.engine.pass_stack import elsewhere
from dispatchviz.explain.graph.engine.ready_queues import RULE, ReadyQueue, Turn, ready_queues
from dispatchviz.explain.graph.graph_node import NO_NUMBER
from dispatchviz.explain.things.thing import NodeThing
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.views.panes.engine.section import FEW, MANY, more
from dispatchviz.views.text.styled_line import Line, line


def queue_rows(trace: Trace, at: int, whole: bool) -> Iterator[Line]:
    """Yield a line for each queue, with its Nodes below. Show the ordering rule only if ``whole`` is true."""
    queues = ready_queues(trace, at, MANY if whole else FEW)
    nested = any(turn.queued.depth for queue in queues for turn in queue.turns)
    for queue in queues:
        yield _head(queue)
        for place, turn in enumerate(queue.turns):
            after = queue.turns[place + 1] if place + 1 < len(queue.turns) else None
            yield _turn(trace, place, turn, after, nested, at)
        yield from more(queue.number - len(queue.turns))
    for started in elsewhere(trace, at):
        number = str(started.graph_task)
        yield line("  another thread runs graph task ", number, (", which has its own CPU queue", "dim"),
                   goto=started.seq, cut=True)  # fmt: skip
    if whole:
        yield line((f"  order: {', then '.join(RULE)}; the heap breaks ties", "dim"), indent=4)


def _head(queue: ReadyQueue) -> Line:
    whose = "of the calling thread" if queue.thread == "caller" else f"of thread {queue.thread}"
    waits = f"{queue.number:,} waiting, the first runs next"
    said = waits if queue.number else "empty"
    return line(("Ready queue ", "title"), (queue.device, "title"), f"  {said}", (f"  {whose}", "dim"),
                key=f"ready {queue.device}", value=said, cut=True)  # fmt: skip


def _turn(trace: Trace, place: int, turn: Turn, after: Turn | None, nested: bool, at: int) -> Line:
    queued = turn.queued
    depth = f"  depth {queued.depth}" if nested else ""
    return line(
        (f"  {place + 1} ", "dim"),
        (node_title(trace, queued.node, at), "name"),
        f"{depth}  seq {_number(queued.sequence_nr)}",
        (_decided(turn, after), "dim"),
        key=f"ready {queued.node}",
        about=NodeThing(queued.node),
        goto=turn.pushed,
        value=str(place + 1),
        cut=True,
    )


def _number(sequence_nr: int) -> str:
    """The sequence number as text; an AccumulateGrad has the largest one, ``max``."""
    return "max" if sequence_nr == NO_NUMBER else str(sequence_nr)


def _decided(turn: Turn, after: Turn | None) -> str:
    """The text on why a Node comes before the next one."""
    if after is None:
        return ""
    if turn.decided == "equal":
        return "  tied with the next: the heap decides"
    by_depth = turn.decided == "reentrant depth"
    numbers = [each.queued.depth if by_depth else each.queued.sequence_nr for each in (turn, after)]
    return f"  {' > '.join(map(_number, numbers))}: {turn.decided} decides"
