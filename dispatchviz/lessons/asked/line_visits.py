"""The lines of a lesson's program at which answers are evaluated.

A step belongs to a line of the program, and to one of the times that this line runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index import statements
from dispatchviz.explain.trace_index.enclosing_steps import source_text, user_stack

END = 0
"""The line number of the end of the program."""


class Visit(NamedTuple):
    """A line of the program, at one of the times that it runs."""

    line: int
    """The number of the line; END for the end of the program."""
    time: int
    """1 for the first time."""


class Place(NamedTuple):
    """The place where an answer is evaluated."""

    visit: Visit
    last: int
    """The last step of the line."""
    text: str
    """The place in words: ``after `y = x * 2` (line 6)``."""
    first: int = 0
    """The step at which the line begins."""


def end_of_program(trace: Trace) -> Place:
    """Return the place after the last step."""
    return Place(Visit(END, 1), len(trace) - 1, "at the end of the program")


def place_of(trace: Trace, step: int, program: str) -> Place | None:
    """Return the place of a step: the end of the innermost line of the program that it belongs to, or None if it
    belongs to none. ``program`` is the text of the program.
    """
    own = [line for line in user_stack(trace, step) if trace.header.sources.get(line.file) == program]
    named = [line for line in own if not line.function.rpartition(".")[2].startswith("<")]
    if not named:
        return None
    line, times = named[-1], [each for each in _visits(trace) if each.seq <= named[-1].seq]
    same = [each for each in times if (each.file, each.line) == (line.file, line.line)]
    begun = [k for k, each in enumerate(same, 1) if each.caller == line.caller]
    if not begun:
        return None
    begin = same[begun[-1] - 1].seq
    text = f"after `{source_text(trace, line)}` (line {line.line})"
    return Place(Visit(line.line, begun[-1]), statements.end(trace, begin), text, begin)


def _visits(trace: Trace) -> Iterator[ev.SourceLine]:
    for step in trace.steps_of(ev.SourceLine):
        event = trace[step]
        if isinstance(event, ev.SourceLine) and not event.resumed:
            yield event
