"""The forward calls of a trace as a picture: a box for each line and each call, with the caller on the left.

A box has a row for each key that the call is dispatched to. Arrows start at the row whose kernel makes the call.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_graph import CallGraph, Counted, Hop, Line, call_graph
from dispatchviz.foundation.english import shortened
from dispatchviz.outputs.picture.dot import Pen
from dispatchviz.outputs.picture.drawn_picture import DrawnPicture
from dispatchviz.outputs.picture.svg import RenderError

MOST = 120
"""The largest number of boxes for calls."""

LONGEST = 80
"""The largest length of a text."""

LINE = {"style": "rounded,filled", "fillcolor": "#FAFAF5", "color": "#8A8A6A"}
CALL = {"style": "filled", "fillcolor": "#FFFFFF", "color": "#005B8F"}


def call_picture(trace: Trace, first: int = 0, last: int | None = None) -> DrawnPicture:
    """Return the picture of the calls that begin in a range of steps. Raise RenderError if there is none."""
    graph = call_graph(trace, first, last)
    if not graph.lines:
        raise RenderError("nothing to draw: no operator is called at these steps outside of a backward pass")
    pen = Pen()
    work = _Drawing(pen)
    for line in graph.lines:
        work.line(line)
    pen.in_order(name for name in pen.names if name.startswith("l"))
    return DrawnPicture(pen.drawing(_title(trace, graph), "calls", **PAGE), _note(work, graph))


PAGE = {"rankdir": "LR", "ordering": "out", "ranksep": "0.5", "nodesep": "0.12"}


def _title(trace: Trace, graph: CallGraph) -> Iterator[str]:
    yield f"Calls of {trace.header.program}, without the calls in backward passes"
    yield "Arrows: from a line or a kernel to the operators that it calls, from top to bottom"
    yield "A row: the key that the call is dispatched to, and the kernel of its cell; the next row is a redispatch"
    if _repeated(graph):
        yield "× 3: three calls that are alike, from one line or kernel"


def _repeated(graph: CallGraph) -> bool:
    pending = [counted for line in graph.lines for counted in line.calls]
    while pending:
        counted = pending.pop()
        if counted.times > 1:
            return True
        pending += [inner for hop in counted.call.hops for inner in hop.calls]
    return False


def _note(work: _Drawing, graph: CallGraph) -> str:
    left = work.left_out + graph.left_out
    return f"{left:,} more calls are not drawn: --steps A-B or --step N selects others" if left else ""


class _Drawing:
    def __init__(self, pen: Pen) -> None:
        self._pen, self._count = pen, 0
        self.left_out = 0

    def line(self, line: Line) -> None:
        if self._count >= MOST:
            self.left_out += sum(counted.times for counted in line.calls)
            return
        name = f"l{line.step}"
        head = f"{line.file.rpartition('/')[2]}:{line.line}" if line.line else "outside of the program's lines"
        texts = [head, shortened(line.text, LONGEST)] if line.text else [head]
        self._pen.box(name, self._pen.lines(texts), id=name, **LINE, **self._pen.link(line.step, texts))
        self._calls(name, line.calls)

    def _calls(self, tail: str, calls: tuple[Counted, ...]) -> None:
        for counted in calls:
            if self._count >= MOST:
                self.left_out += counted.times
                continue
            self._count += 1
            name = self._call(counted)
            self._pen.edge(tail, f"{name}:t:w")

    def _call(self, counted: Counted) -> str:
        name = f"c{counted.step}"
        times = f" × {counted.times:,}" if counted.times > 1 else ""
        title = f"{counted.call.operator}{times}"
        hops = counted.call.hops
        rows = [f"<t>{self._pen.text(title)}", *(f"<h{at}>{self._row(hop)}" for at, hop in enumerate(hops))]
        link = self._pen.link(counted.step, [title, f"step {counted.step}"])
        self._pen.box(name, "|".join(rows), id=name, **CALL, **link)
        for at, hop in enumerate(hops):
            self._calls(f"{name}:h{at}:e", hop.calls)
        return name

    def _row(self, hop: Hop) -> str:
        boxed = " (boxed)" if hop.how.endswith("Boxed") else ""
        return self._pen.lines([shortened(f"{hop.key}{boxed}: {hop.kernel or 'no kernel'}", LONGEST)])
