"""The source at a step: the user's line, and our Python code that is running, with the most relevant line.

The program's text comes from the trace's header, our own text from the installed package. A trace names our files
relative to the package. Names that lead out of the package are not read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.locations import event_lines
from dispatchviz.explain.locations.source_functions import (
    Found,
    called_function,
    function_at,
    lines_of_file,
    own_function_at,
)
from dispatchviz.explain.trace_index.enclosing_steps import source_lines, user_stack


class SourceView(Struct, frozen=True):
    """The program and our code at a step."""

    file: str
    """The file of the program; empty if no line has been reached."""
    line: int
    """The running line, from 1; 0 if none."""
    lines: tuple[str, ...]
    """All lines of the program."""
    called_from: tuple[ev.SourceLine, ...]
    """The lines from which the function of the line was called, nearest first."""
    running: str
    """The file of the running Python code: the program's, or one of ours relative to the package; empty if none."""
    kernel: str
    """PyTorch's name of a kernel, because one function of ours may serve CPU and CUDA; empty for other functions."""
    running_lines: tuple[str, ...]
    """The lines of the running function, as far as the file could be read."""
    running_first: int
    """The line number of its first line."""
    running_line: int
    """The line number in that file that the step comes from; 0 if unknown."""


class Running(NamedTuple):
    """A function, and the line in it that a step comes from."""

    file: str
    first: int
    last: int
    line: int
    """The line; 0 if unknown."""


_NOTHING = Running("", 0, 0, 0)


class SourcePlace(NamedTuple):
    """The place of a step in the sources."""

    line: int
    """The step of the program's line; -1 if none has been reached."""
    kernel: str
    running: Running


def source_at(trace: Trace, seq: int) -> SourceView:
    """Return the sources to show at step ``seq``."""
    return source_of(trace, source_place(trace, seq))


def source_place(trace: Trace, seq: int) -> SourcePlace:
    """Return the place of step ``seq``, from which the sources to show are found."""
    code = _code(trace, seq)
    running = _running(trace, seq, code) if code else _NOTHING
    kernel = code.kernel if isinstance(code, ev.KernelEntered) and running.first == code.line else ""
    return SourcePlace(trace.columns.lines[seq], kernel, running)


def source_of(trace: Trace, place: SourcePlace) -> SourceView:
    """Return the sources to show at a place."""
    stack, running = user_stack(trace, place.line) if place.line >= 0 else (), place.running
    line = stack[-1] if stack else None
    file = line.file if line else next(iter(trace.header.sources), "")
    return SourceView(
        file=file,
        line=line.line if line else 0,
        called_from=stack[-2::-1],
        lines=source_lines(trace, file),
        running=running.file,
        kernel=place.kernel,
        running_lines=_lines(trace, running.file)[running.first - 1 : running.last] if running.file else (),
        running_first=running.first,
        running_line=running.line,
    )


Code = ev.KernelEntered | ev.ImplEntered | ev.NodeStarted | ev.FunctionEntered

CODE = (ev.KernelEntered, ev.ImplEntered, ev.NodeStarted, ev.FunctionEntered)


def _code(trace: Trace, seq: int) -> Code | None:
    """Return the innermost event around a step, or the step itself, that has Python code of ours. Stop at a Python
    binding.
    """
    event = trace[seq]
    if isinstance(event, CODE) and event.file:
        return event
    return None if isinstance(event, ev.BindingEntered) else _code_around(trace, trace.columns.parents[seq])


@lru_cache(maxsize=256)
def _code_around(trace: Trace, seq: int) -> Code | None:
    """Return the code of an event or around it, which is the same for all steps directly within it."""
    for event in (trace[seq], *trace.ancestors(seq)) if seq >= 0 else ():
        if isinstance(event, CODE) and event.file:
            return event
        if isinstance(event, ev.BindingEntered):
            return None
    return None


def _lines(trace: Trace, file: str) -> tuple[str, ...]:
    """Return the lines of a file of the program (a Function, a kernel of the user) or of ours."""
    return source_lines(trace, file) if file in trace.header.sources else lines_of_file(file)


def _running(trace: Trace, seq: int, code: Code) -> Running:
    """Return the function that contains a step, with the line of the step. The function's own event has no line."""
    file, first, last = code.file, code.line, code.end_line
    read = _read(trace, code.seq) if seq != code.seq else None
    if read is None:
        return Running(file, first, last, 0)
    function, events, numbers = read
    if isinstance(trace[seq], OVER) and trace[seq].parent == code.seq:
        return Running(file, first, last, _only_return(function))
    if seq in numbers and not len(trace.steps_of(ev.ForwardFormulaEntered)):
        return Running(file, first, last, numbers[seq])
    around = (seq, *takewhile(lambda step: step != code.seq, trace.columns.ancestors(seq)))
    line = _line_of(around, numbers)
    in_formula = any(isinstance(trace[at], ev.ForwardFormulaEntered) for at in around)
    found = _forward_mode_function(file, function, line) if in_formula else None
    if found is None:
        return Running(file, first, last, line)
    within = [event for event in events if numbers[event.seq] == line]
    line = _line_of(around, _numbered(within, event_lines.lines_of(found.file, found.function, within)))
    return Running(found.file, found.function.lineno, found.function.end_lineno or 0, line)


class _Read(NamedTuple):
    """A function that has run."""

    function: ast.FunctionDef
    events: Sequence[ev.AnyEvent]
    """The events that it caused itself."""
    lines: Mapping[int, int]
    """The line of each event."""


@lru_cache(maxsize=16)
def _read(trace: Trace, seq: int) -> _Read | None:
    """Return the function, which is the same at all of its steps; None if its source cannot be read."""
    code = trace[seq]
    function = _function(trace, code) if isinstance(code, Code) else None
    if function is None or not isinstance(code, Code):
        return None
    events = list(_done_by(trace, seq))
    lines = event_lines.lines_of(code.file, function, events, _skipped(trace, code))
    return _Read(function, events, _numbered(events, lines))


def _function(trace: Trace, code: Code) -> ast.FunctionDef | None:
    if code.file in trace.header.sources:
        return function_at(source_lines(trace, code.file), code.line)
    return own_function_at(code.file, code.line)


def _numbered(events: Sequence[ev.AnyEvent], lines: Sequence[int]) -> Mapping[int, int]:
    return {event.seq: line for event, line in zip(events, lines, strict=True)}


def _line_of(around: Iterable[int], numbers: Mapping[int, int]) -> int:
    """Return the line of the innermost step around, which come first; 0 if none has a line."""
    return next((numbers[step] for step in around if step in numbers), 0)


def _forward_mode_function(file: str, function: ast.FunctionDef, line: int) -> Found | None:
    """Return the function in ``generated/forward_mode.py`` that a kernel calls on a line, or None."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="forward_mode")) as called) if node.lineno == line:
                return called_function(file, called)
    return None


def _skipped(trace: Trace, code: Code) -> frozenset[int]:
    """Return the edges of a Node that got no gradient, so that their formulas did not run."""
    if not isinstance(code, ev.NodeStarted):
        return frozenset()
    finished = next((event for event in trace.children(code.seq) if isinstance(event, ev.NodeFinished)), None)
    given = finished.gradients if finished is not None else ()
    return frozenset(edge for edge, gradient in enumerate(given) if gradient is None)


OVER = (ev.KernelReturned, ev.NodeFinished, ev.VariablesReleased, ev.HookRan)
"""The events that come when a function has returned."""


@lru_cache(maxsize=512)
def _only_return(function: ast.FunctionDef) -> int:
    """Return the line of a function's return statement; 0 if it has several, or none."""
    found = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Return)]
    return found[0] if len(found) == 1 else 0


def _done_by(trace: Trace, seq: int) -> Iterator[ev.AnyEvent]:
    """Yield the events that a function causes itself: those within it, and those within a guard, a meta function or a
    formula.
    """
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
