"""The source at a step: the user's line, and the Python of ours that is being run, with the best line to look at.

Program text comes from the trace's header, our own text from the installed package. A trace names files of ours
relative to the package; names that would lead out of it are not read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.locations import event_lines
from dispatchviz.explain.locations.source_functions import Found, called_function, function_at, lines_of_file
from dispatchviz.explain.trace_index.enclosing_steps import source_lines, user_stack


@dataclass(frozen=True, slots=True)
class SourceView:
    """The program and the code below it, as of one step."""

    file: str
    """Of the program; empty if no line of it has been reached."""
    line: int
    """The line that runs, from 1; 0 if none."""
    lines: tuple[str, ...]
    """The whole program."""
    called_from: tuple[ev.SourceLine, ...]
    """The lines from which the function that the line is in was called, the nearest first."""
    running: str
    """File of the Python being run: the program's, or relative to the package; empty if none."""
    kernel: str
    """PyTorch's name of it, where it is a kernel's: one function of ours may serve CPU and CUDA. Else empty."""
    running_lines: tuple[str, ...]
    """The function that runs, as far as its file could be read."""
    running_first: int
    """Line number of its first line."""
    running_line: int
    """Line number in that file of what the step is about; 0 if not known."""


def source_at(trace: Trace, seq: int) -> SourceView:
    """What to show of the sources at step ``seq``."""
    stack = user_stack(trace, seq)
    line = stack[-1] if stack else None
    file = line.file if line else next(iter(trace.header.sources), "")
    code = _code(trace, seq)
    running = _running(trace, seq, code) if code else _NOTHING
    return SourceView(
        file=file,
        line=line.line if line else 0,
        called_from=stack[-2::-1],
        lines=source_lines(trace, file),
        running=running.file,
        kernel=code.kernel if isinstance(code, ev.KernelEntered) and running.first == code.line else "",
        running_lines=_lines(trace, running.file)[running.first - 1 : running.last] if running.file else (),
        running_first=running.first,
        running_line=running.line,
    )


class _Running(NamedTuple):
    """A function, and where in it a step comes from."""

    file: str
    first: int
    last: int
    line: int
    """0 if not known."""


_NOTHING = _Running("", 0, 0, 0)


Code = ev.KernelEntered | ev.ImplEntered | ev.NodeStarted | ev.FunctionEntered


def _code(trace: Trace, seq: int) -> Code | None:
    """The innermost event around a step, or the step itself, that has Python of ours; not past a Python binding."""
    for event in (trace[seq], *trace.ancestors(seq)):
        if isinstance(event, Code) and event.file:
            return event
        if isinstance(event, ev.BindingEntered):
            return None
    return None


def _lines(trace: Trace, file: str) -> tuple[str, ...]:
    """Of a file of the program (a Function, a kernel of the user's own), or of ours."""
    return source_lines(trace, file) if file in trace.header.sources else lines_of_file(file)


def _running(trace: Trace, seq: int, code: Code) -> _Running:
    """The function that a step is in, with the line that the step comes from; no line for the function's own event."""
    whole = _Running(code.file, code.line, code.end_line, 0)
    read = _read(trace, code.seq) if seq != code.seq else None
    if read is None:
        return whole
    function, events, numbers = read
    if isinstance(trace[seq], OVER) and trace[seq].parent == code.seq:
        return whole._replace(line=_only_return(function))
    around = (seq, *takewhile(lambda step: step != code.seq, trace.columns.ancestors(seq)))
    line = _line_of(around, numbers)
    in_formula = any(isinstance(trace[at], ev.ForwardFormulaEntered) for at in around)
    found = _forward_mode_function(code.file, function, line) if in_formula else None
    if found is None:
        return whole._replace(line=line)
    within = [event for event in events if numbers[event.seq] == line]
    line = _line_of(around, _numbered(within, event_lines.lines_of(found.file, found.function, within)))
    return _Running(found.file, found.function.lineno, found.function.end_lineno or 0, line)


class _Read(NamedTuple):
    """A function that has run."""

    function: ast.FunctionDef
    events: Sequence[ev.AnyEvent]
    """What it does itself."""
    lines: Mapping[int, int]
    """The line of each of their steps."""


@lru_cache(maxsize=16)
def _read(trace: Trace, seq: int) -> _Read | None:
    """The same at all steps in a function; None if its source cannot be read."""
    code = trace[seq]
    function = function_at(_lines(trace, code.file), code.line) if isinstance(code, Code) else None
    if function is None or not isinstance(code, Code):
        return None
    events = list(_done_by(trace, seq))
    lines = event_lines.lines_of(code.file, function, events, _skipped(trace, code))
    return _Read(function, events, _numbered(events, lines))


def _numbered(events: Sequence[ev.AnyEvent], lines: Sequence[int]) -> Mapping[int, int]:
    return {event.seq: line for event, line in zip(events, lines, strict=True)}


def _line_of(around: Iterable[int], numbers: Mapping[int, int]) -> int:
    """The line of the innermost of the steps around one, which come first; 0 if none has a line."""
    return next((numbers[step] for step in around if step in numbers), 0)


def _forward_mode_function(file: str, function: ast.FunctionDef, line: int) -> Found | None:
    """The function of ``generated/forward_mode.py`` that a kernel calls on a line; None if it calls none there."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="forward_mode")) as called) if node.lineno == line:
                return called_function(file, called)
    return None


def _skipped(trace: Trace, code: Code) -> frozenset[int]:
    """Edges of a Node that got no gradient: their formulas did not run."""
    if not isinstance(code, ev.NodeStarted):
        return frozenset()
    finished = next((event for event in trace.children(code.seq) if isinstance(event, ev.NodeFinished)), None)
    given = finished.gradients if finished is not None else ()
    return frozenset(edge for edge, gradient in enumerate(given) if gradient is None)


OVER = (ev.KernelReturned, ev.NodeFinished, ev.VariablesReleased, ev.HookRan)
"""What comes when a function has returned."""


def _only_return(function: ast.FunctionDef) -> int:
    """The line of a function's return statement; 0 if it has several, or none."""
    found = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Return)]
    return found[0] if len(found) == 1 else 0


def _done_by(trace: Trace, seq: int) -> Iterator[ev.AnyEvent]:
    """What a function does itself: the events within it, also those within a guard, a meta function or a formula."""
    within = [trace.children(seq)]
    while within:
        event = next(within[-1], None)
        if event is None:
            within.pop()
            continue
        if not isinstance(event, OVER):
            yield event
        if isinstance(event, (ev.GuardEntered, ev.MetaEntered, ev.ForwardFormulaEntered)):
            within.append(trace.children(event.seq))
