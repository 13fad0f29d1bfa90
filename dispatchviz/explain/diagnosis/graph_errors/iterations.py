"""The iteration of a loop in which a step happened, counted from the lines that the program ran."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.outline.loops import Loop, loops_of
from dispatchviz.explain.trace_index.enclosing_steps import user_stack
from dispatchviz.foundation.english import listed


class Iteration(NamedTuple):
    """An iteration of a loop."""

    file: str
    head: int
    """The line of ``for`` or ``while``."""
    began: int
    """The step at which the loop's first iteration began, because the same loop may run several times."""
    number: int
    """From 1."""


def iterations(trace: Trace, seq: int) -> tuple[Iteration, ...]:
    """Return the iterations that a step is in, innermost first, including those of the callers of its function."""
    return tuple(each for line in reversed(user_stack(trace, seq)) for each in _of_line(trace, line))


def in_iteration(trace: Trace, seq: int) -> str:
    """Return `` in iteration 2``, with the loops if there are several; empty outside loops."""
    found = iterations(trace, seq)
    if len(found) < 2:
        return "".join(f" in iteration {each.number}" for each in found)
    inner, *outer = (f"iteration {each.number} of the loop on line {each.head}" for each in found)
    later = [text for text, each in zip(outer, found[1:], strict=True) if each.number > 1]
    return f" in {inner}{f' ({listed(later)})' if later else ''}"


def on_line_in(trace: Trace, seq: int, text: bool = True) -> str:
    """Return the line with its iteration: ``line 7 (loss.backward()) in iteration 2``."""
    return on_line(trace, seq, text) + in_iteration(trace, seq)


def _of_line(trace: Trace, line: ev.SourceLine) -> Iterator[Iteration]:
    loops = loops_of(trace.header.sources.get(line.file, "")).values()
    around = sorted((loop for loop in loops if loop.has(line.line)), key=lambda loop: -loop.head)
    return (_count(trace, line, loop) for loop in around)


def _count(trace: Trace, line: ev.SourceLine, loop: Loop) -> Iteration:
    """Count how often the loop's first line began, back to where the program entered the loop."""
    columns, steps = trace.columns, trace.steps_of(ev.SourceLine)
    at, number, began = bisect_left(steps, line.seq), 0, line.seq
    caller = columns.callers[at]
    for earlier in range(at, -1, -1):
        place = columns.line_places[columns.places[earlier]]
        if columns.callers[earlier] != caller or place.file != line.file or place.resumed:
            continue
        if not loop.has(place.line):
            break
        if place.line == loop.first:
            number, began = number + 1, steps[earlier]
    return Iteration(line.file, loop.head, began, max(number, 1))
