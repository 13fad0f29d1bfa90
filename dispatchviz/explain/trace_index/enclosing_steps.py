"""The surroundings of a step: dispatch, kernel, caller, active guard, and the lines of the program's source.

All of it is found by walking outwards or a few steps forward, never by a pass over the trace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

E = TypeVar("E", bound=ev.Event)


def around(trace: Trace, seq: int, kind: type[E]) -> E | None:
    """The innermost event of a kind that a step is within; the step itself does not count."""
    kinds, code = trace.columns.kinds, trace.columns.code(kind)
    events = (trace[step] for step in trace.columns.ancestors(seq) if kinds[step] == code)
    return next((event for event in events if isinstance(event, kind)), None)  # it is not where the file is damaged


def at_or_around(trace: Trace, seq: int, kind: type[E]) -> E | None:
    """As ``around``, but the step itself counts."""
    event = trace[seq]
    return event if isinstance(event, kind) else around(trace, seq, kind)


def within(trace: Trace, seq: int, kind: type[E]) -> E | None:
    """The event of a kind directly within a dispatch, among those that precede its kernel."""
    few = trace[seq + 1 : seq + 8]
    return next((event for event in few if isinstance(event, kind) and event.parent == seq), None)


def caller(trace: Trace, seq: int) -> ev.AnyEvent | None:
    """The event that made a step happen: the innermost one around it that is not a guard."""
    return next((event for event in trace.ancestors(seq) if not isinstance(event, ev.GuardEntered)), None)


def kernel_before(trace: Trace, dispatched: ev.Dispatched) -> ev.KernelEntered | None:
    """The kernel that a redispatch comes from; its set is the one that the redispatch was masked out of."""
    found = caller(trace, dispatched.seq)
    return found if isinstance(found, ev.KernelEntered) else None


def key_of_kernel(trace: Trace, kernel: ev.KernelEntered) -> str:
    """The key at which a kernel runs."""
    found = around(trace, kernel.seq, ev.Dispatched)
    return found.key if found else ""


def arguments(trace: Trace, seq: int) -> ev.KeySetComputed | None:
    """The key set computation that the dispatch around a step goes back to, across redispatches of that operator."""
    operator = ""
    for event in (trace[seq], *trace.ancestors(seq)):
        if not isinstance(event, ev.Dispatched):
            continue
        operator = operator or event.operator
        if event.operator != operator:
            return None
        if event.how.startswith("call"):
            return within(trace, event.seq, ev.KeySetComputed)
    return None


def excluder(trace: Trace, seq: int, bits: int) -> ev.GuardEntered | None:
    """The guard around a step that put keys (functionality bits) into the excluded set; None if no guard did."""
    return _guard(trace, seq, lambda guard: bits & guard.excluded & ~guard.excluded_before)


def includer(trace: Trace, seq: int, bits: int) -> ev.GuardEntered | None:
    """As ``excluder``, for the included set."""
    return _guard(trace, seq, lambda guard: bits & guard.included & ~guard.included_before)


def _guard(trace: Trace, seq: int, chosen: Callable[[ev.GuardEntered], int]) -> ev.GuardEntered | None:
    guards = (event for event in trace.ancestors(seq) if isinstance(event, ev.GuardEntered))
    return next((guard for guard in guards if chosen(guard)), None)


def source_line(trace: Trace, seq: int) -> ev.SourceLine | None:
    """The line of the program that a step belongs to.

    A line is open until the next one. Inside a guard that the program holds (``with torch.inference_mode():``) and
    inside hooks lines are no containers: there it is the last line before the step in the same surroundings.
    """
    line = trace[known] if (known := trace.columns.lines[seq]) >= 0 else None
    return line if isinstance(line, ev.SourceLine) else None


def user_stack(trace: Trace, seq: int) -> tuple[ev.SourceLine, ...]:
    """The line that a step belongs to and those that its function was called from, outermost first."""
    found = []
    line = source_line(trace, seq)
    while line is not None:
        found.append(line)
        caller = trace[line.caller] if line.caller is not None and line.caller < line.seq else None
        line = caller if isinstance(caller, ev.SourceLine) else None
    return tuple(found[::-1])


def source_text(trace: Trace, line: ev.SourceLine) -> str:
    """The text of a line without its indentation; empty if the trace does not have it."""
    lines = source_lines(trace, line.file)
    return lines[line.line - 1].strip() if 0 < line.line <= len(lines) else ""


def source_lines(trace: Trace, file: str) -> tuple[str, ...]:
    """The lines of a file; none if the trace does not have it."""
    return _lines(trace.header.sources.get(file, ""))


@functools.lru_cache(maxsize=64)
def _lines(text: str) -> tuple[str, ...]:
    """Cut once: a log asks at each line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines if lines[-1] else lines[:-1])
