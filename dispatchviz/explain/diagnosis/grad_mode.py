"""The place where grad mode was turned off before a step, from the recorded switches and the program's text.

A recording of an installed PyTorch has a switch at the first call after it. There the block or function around the line
shows the place, ``with torch.no_grad():``, ``@torch.inference_mode()``, or else the last line that turns it off.
"""

from __future__ import annotations

import ast
import functools
import re
from bisect import bisect_left

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.silent.calls import lines_with
from dispatchviz.explain.diagnosis.words import file_of, on_line
from dispatchviz.explain.trace_index.enclosing_steps import user_stack
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.foundation.english import shortened

OFF = re.compile(r"\b(no_grad|inference_mode|set_grad_enabled\(False\))")
"""The expressions in a ``with`` or decorator that turn grad mode off."""

Switch = ev.GradModeChanged | ev.InferenceModeChanged


def off_since(trace: Trace, seq: int) -> str:
    """Return the line that turned it off: ``line 3 (with torch.no_grad():)``; empty if it was on or the line is
    unknown.
    """
    modes = [_last(trace, kind, seq) for kind in (ev.GradModeChanged, ev.InferenceModeChanged)]
    off = [mode.seq for mode in modes if mode is not None and mode.enabled == isinstance(mode, ev.InferenceModeChanged)]
    if not off or (around := _written_around(trace, seq)):
        return around if off else ""
    if is_live(trace.header):
        written = [step for step in lines_with(trace, OFF.search) if step < seq]
        return on_line(trace, written[-1] if written else max(off))
    return on_line(trace, max(off))


def _last(trace: Trace, kind: type[Switch], seq: int) -> Switch | None:
    """Return the last switch of a kind before a step."""
    steps = trace.steps_of(kind)
    place = bisect_left(steps, seq)
    event = trace[steps[place - 1]] if place else None
    return event if isinstance(event, ev.GradModeChanged | ev.InferenceModeChanged) else None


def _written_around(trace: Trace, seq: int) -> str:
    """Return the text around the lines that were running, innermost first."""
    for line in reversed(user_stack(trace, seq)):
        text = trace.header.sources.get(line.file, "")
        if (found := _around(text, line.line)) is not None:
            return f"{file_of(trace, line)}line {found[0]} ({found[1]})"
    return ""


@functools.lru_cache(maxsize=256)
def _around(text: str, line: int) -> tuple[int, str] | None:
    """Return the innermost ``with`` or decorator around a line that turns grad mode off: its line and its text."""
    found = None
    for node in ast.walk(_tree(text)):
        if not isinstance(node, ast.With | ast.FunctionDef) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        for each in [item.context_expr for item in node.items] if isinstance(node, ast.With) else node.decorator_list:
            code = ast.unparse(each)
            if OFF.search(code) and (found is None or node.lineno >= found[0]):
                found = each.lineno, shortened(f"with {code}:" if isinstance(node, ast.With) else f"@{code}", 60)
    return found


@functools.lru_cache(maxsize=16)
def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])
