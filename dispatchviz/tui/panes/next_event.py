"""The text of an empty pane: what will be there, and from which step on."""

from __future__ import annotations

from bisect import bisect_right
from weakref import WeakKeyDictionary

from dispatchviz.core.record.events import Event
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.text.styled_line import Line, line

_steps: WeakKeyDictionary[Trace, dict[type[Event], list[int]]] = WeakKeyDictionary()


def steps_of(trace: Trace, kind: type[Event]) -> list[int]:
    """All steps of a kind, kept per trace."""
    known = _steps.setdefault(trace, {})
    if kind not in known:
        known[kind] = [event.seq for event in trace if type(event) is kind]
    return known[kind]


def next_step(trace: Trace, at: int, kind: type[Event]) -> int | None:
    """The first step of a kind after this one."""
    steps = steps_of(trace, kind)
    position = bisect_right(steps, at)
    return steps[position] if position < len(steps) else None


def not_yet(trace: Trace, at: int, kind: type[Event], what: str) -> Line:
    """``what``, and the step at which that changes; a click goes there."""
    step = next_step(trace, at, kind)
    if step is None:
        return line((f"{what}, and none follows.", "dim"))
    return line((f"{what}. The next one is at step ", "dim"), (str(step), "keycap"), (".", "dim"), goto=step)
