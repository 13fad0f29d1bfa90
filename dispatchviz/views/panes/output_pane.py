"""What the program had printed by a step, its last line in view."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.moment.program_output import output_until
from dispatchviz.views.panes.next_event import not_yet
from dispatchviz.views.text.styled_line import Line, line


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """A row per line; a click goes to the step that printed it."""
    output = output_until(trace, at)
    if not output.lines:
        return [not_yet(trace, at, ev.Printed, "Nothing is printed yet")]
    last = len(output.lines) - 1
    before = [line((f"… {output.before:,} prints before", "dim"))] if output.before else []
    return [*before, *(_row(text, seq, place, place == last) for place, (text, seq) in enumerate(output.lines))]


def _row(text: str, seq: int, place: int, last: bool) -> Line:
    return line(text.expandtabs(), key=f"{seq} {place}", goto=seq, here=last, cut=True)
