"""The surroundings of a step: dispatch, kernel, caller, active guard, and the lines of the program's source.

All of it is found by walking outwards or a few steps forward, never by a pass over the trace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE

E = TypeVar("E", bound=ev.Event)


def around(trace: Trace, seq: int, kind: type[E]) -> E | None:
    """Return the innermost event of a kind around a step. The step itself does not count."""
    columns = trace.columns
    kinds, parents, code = columns.kinds, columns.parents, columns.code(kind)
    step = parents[seq]
    while NONE < step < seq:
        if kinds[step] == code and isinstance(event := trace[step], kind):  # false if the file is damaged there
            return event
        seq, step = step, parents[step]
    return None


def at_or_around(trace: Trace, seq: int, kind: type[E]) -> E | None:
    """Return the innermost event of a kind around a step. The step itself counts."""
    columns = trace.columns
    if columns.kinds[seq] == columns.code(kind) and isinstance(event := trace[seq], kind):
        return event
    return around(trace, seq, kind)


def within(trace: Trace, seq: int, kind: type[E]) -> E | None:
    """Return the event of a kind directly within a dispatch, among those before its kernel."""
    few = trace[seq + 1 : seq + 8]
    return next((event for event in few if isinstance(event, kind) and event.parent == seq), None)


def caller(trace: Trace, seq: int) -> ev.AnyEvent | None:
    """Return the event that caused a step: the innermost one around it that is not a guard."""
    return next((event for event in trace.ancestors(seq) if not isinstance(event, ev.GuardEntered)), None)


def kernel_before(trace: Trace, dispatched: ev.Dispatched) -> ev.KernelEntered | None:
    """Return the kernel that a redispatch comes from. The redispatch's key set is a part of the kernel's."""
    found = caller(trace, dispatched.seq)
    return found if isinstance(found, ev.KernelEntered) else None


def key_of_kernel(trace: Trace, kernel: ev.KernelEntered) -> str:
    """Return the key at which a kernel runs."""
    found = around(trace, kernel.seq, ev.Dispatched)
    return found.key if found else ""


def arguments(trace: Trace, seq: int) -> ev.KeySetComputed | None:
    """Return the key set computation of the dispatch around a step, across redispatches of that operator."""
    is_call = trace.columns.kinds[seq] == trace.columns.code(ev.Dispatched)
    return _arguments(trace, seq if is_call else trace.columns.parents[seq])


@functools.lru_cache(maxsize=256)
def _arguments(trace: Trace, seq: int) -> ev.KeySetComputed | None:
    """Return what an event gives all steps directly within it that are no calls."""
    operator = ""
    for event in (trace[seq], *trace.ancestors(seq)) if seq >= 0 else ():
        if not isinstance(event, ev.Dispatched):
            continue
        operator = operator or event.operator
        if event.operator != operator:
            return None
        if not event.is_redispatch:
            return within(trace, event.seq, ev.KeySetComputed)
    return None


def excluder(trace: Trace, seq: int, bits: int) -> ev.GuardEntered | None:
    """Return the guard around a step that added keys (functionality bits) to the excluded set, or None."""
    return _guard(trace, seq, lambda guard: bits & guard.excluded & ~guard.excluded_before)


def includer(trace: Trace, seq: int, bits: int) -> ev.GuardEntered | None:
    """Return the guard around a step that added keys (functionality bits) to the included set, or None."""
    return _guard(trace, seq, lambda guard: bits & guard.included & ~guard.included_before)


def _guard(trace: Trace, seq: int, chosen: Callable[[ev.GuardEntered], int]) -> ev.GuardEntered | None:
    guards = (event for event in trace.ancestors(seq) if isinstance(event, ev.GuardEntered))
    return next((guard for guard in guards if chosen(guard)), None)


def source_line(trace: Trace, seq: int) -> ev.SourceLine | None:
    """Return the line of the program that a step belongs to.

    A line is open until the next one. Inside a guard that the program holds (``with torch.inference_mode():``) and
    inside hooks, lines do not contain other events. There it is the last line before the step in the same surroundings.
    """
    line = trace[known] if (known := trace.columns.lines[seq]) >= 0 else None
    return line if isinstance(line, ev.SourceLine) else None


def user_stack(trace: Trace, seq: int) -> tuple[ev.SourceLine, ...]:
    """Return the line that a step belongs to, and the lines that its function was called from, outermost first."""
    found = []
    line = source_line(trace, seq)
    while line is not None:
        found.append(line)
        caller = trace[line.caller] if line.caller is not None and line.caller < line.seq else None
        line = caller if isinstance(caller, ev.SourceLine) else None
    return tuple(found[::-1])


def source_text(trace: Trace, line: ev.SourceLine) -> str:
    """Return the text of a line without its indentation; empty if the trace does not have it."""
    lines = source_lines(trace, line.file)
    return lines[line.line - 1].strip() if 0 < line.line <= len(lines) else ""


def source_lines(trace: Trace, file: str) -> tuple[str, ...]:
    """Return the lines of a file; empty if the trace does not have it."""
    return _lines(trace.header.sources.get(file, ""))


@functools.lru_cache(maxsize=64)
def _lines(text: str) -> tuple[str, ...]:
    """Split a text into lines, cached because a log needs them at each line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines if lines[-1] else lines[:-1])
