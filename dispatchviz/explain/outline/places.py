"""The places of a program that a reader can type: an iteration of a loop, a line."""

from __future__ import annotations

from bisect import bisect_right

from dispatchviz.core.record.events import SourceLine
from dispatchviz.explain.outline.line_rows import RowKind
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.foundation.english import listed

MANY = 8
"""The largest number of lines that are named."""


def iteration_named(outline: Outline, at: int, number: int) -> int | str:
    """Return the first step of an iteration, of the innermost loop around a step with that many, else of the program's
    first loop; or the reason why there is none.
    """
    lines = outline.lines
    heads = [row for row in lines.around(at) if row in lines.counts] or list(lines.counts)[:1]
    if not heads:
        return "There are no iterations: no loop of the program ran"
    most = max(lines.counts[head] for head in heads)
    head = next((head for head in heads if number <= lines.counts[head]), None)
    if head is None or not number:
        return f"There is no iteration {number:,}: the loop has {most:,}"
    iterations = (~item for item in outline.children(~head) if outline.kind(item) is RowKind.ITERATION)
    shown = next((row for row in iterations if lines.numbers[row] == number), head)
    return lines.begins[shown]


def line_named(outline: Outline, at: int, number: int) -> int | str:
    """Return the next step at which a line of the step's file begins, continuing from the start of the trace; or the
    reason why there is none.
    """
    columns, steps = outline.trace.columns, outline.trace.steps_of(SourceLine)
    file = _file(outline, at)
    found = [
        step
        for step, place in zip(steps, columns.places, strict=False)
        if columns.line_places[place].line == number and columns.line_places[place].file == file
    ]
    if found:
        return found[bisect_right(found, at) % len(found)]
    ran = sorted({place.line for place in columns.line_places if place.file == file})
    named = [str(line) for line in ran[:MANY]] + (["more"] if len(ran) > MANY else [])
    return f"Line {number} of {file} did not run; lines {listed(named)} did" if ran else f"Line {number} did not run"


def _file(outline: Outline, at: int) -> str:
    known = outline.trace.columns.lines[at]
    event = outline.trace[known] if known >= 0 else None
    return event.file if isinstance(event, SourceLine) else outline.trace.header.program
