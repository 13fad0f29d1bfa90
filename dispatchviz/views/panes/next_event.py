"""The text of an empty pane: what will be there, and from which step on."""

from __future__ import annotations

from dispatchviz.core.record.events import Event
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.lookups import neighbour
from dispatchviz.views.text.styled_line import Line, line


def next_step(trace: Trace, at: int, kind: type[Event]) -> int | None:
    """The first step of a kind after this one."""
    return neighbour(trace.steps_of(kind), at)


def not_yet(trace: Trace, at: int, kind: type[Event], what: str) -> Line:
    """``what``, and the step at which that changes; a click goes there."""
    step = next_step(trace, at, kind)
    if step is None:
        return line((f"{what}, and none follows.", "dim"))
    return line((f"{what}. The next one is at step ", "dim"), (str(step), "keycap"), (".", "dim"), goto=step)
