"""The output of the program up to a step, with its last line in view."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.text.styled_line import Line, line


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows, one per line. A click goes to the step that printed the line."""
    output = output_until(trace, at)
    if not output.lines:
        return [not_yet(trace, at, ev.Printed, "Nothing printed yet")]
    last = len(output.lines) - 1
    before = [line((f"… {output.before:,} prints before", "dim"))] if output.before else []
    return [*before, *(_row(text, seq, place, place == last) for place, (text, seq) in enumerate(output.lines))]


def _row(text: str, seq: int, place: int, last: bool) -> Line:
    return line(text.expandtabs(), key=f"{seq} {place}", goto=seq, here=last, cut=True)


LATEST, NEAR, ALWAYS = 200, 4_000, 10
"""The limits on the texts to show: at most ``LATEST`` within ``NEAR`` steps, and ``ALWAYS`` texts however far away. In
a long trace, each text must be found in the file.
"""


class Output(NamedTuple):
    """The end of the program's output."""

    lines: tuple[tuple[str, int], ...]
    """The text of each line without its end, and the step that began it."""
    before: int
    """The number of texts that were printed before these."""


def output_until(trace: Trace, at: int) -> Output:
    """The output up to a step."""
    steps = trace.steps_of(ev.Printed)
    until = bisect_right(steps, at)
    first = max(until - ALWAYS, 0)
    while first > max(until - LATEST, 0) and steps[first - 1] > at - NEAR:
        first -= 1
    lines, open_ = list[tuple[str, int]](), False
    for step in steps[first:until]:
        event = trace[step]
        if isinstance(event, ev.Printed):
            for text in event.text.splitlines(keepends=True):
                lines[len(lines) - open_ :] = [(lines[-1][0] + text, lines[-1][1]) if open_ else (text, step)]
                open_ = not text.endswith("\n")
    return Output(tuple((text.rstrip("\n"), step) for text, step in lines), first)
