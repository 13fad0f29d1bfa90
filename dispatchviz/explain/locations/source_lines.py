"""The source at a step: the user's line, and the Python of ours that is being run, with the best line to look at.

Program text comes from the trace's header, our own text from the installed package. A trace names files of ours
relative to the package; names that would lead out of it are not read.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.enclosing_steps import user_stack

PACKAGE = Path(__file__).parents[2]


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
    running = _lines(trace, code.file)[code.line - 1 : code.end_line] if code else ()
    return SourceView(
        file=file,
        line=line.line if line else 0,
        called_from=stack[-2::-1],
        lines=tuple(trace.header.sources.get(file, "").splitlines()),
        running=code.file if code else "",
        running_lines=running,
        running_first=code.line if code else 0,
        running_line=_highlight(trace, seq, code, running) if code else 0,
    )


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
    return tuple(trace.header.sources[file].splitlines()) if file in trace.header.sources else _package_lines(file)


@functools.lru_cache(maxsize=64)
def _package_lines(file: str) -> tuple[str, ...]:
    path = (PACKAGE / file).resolve()
    if not path.is_relative_to(PACKAGE.resolve()) or path.suffix != ".py":
        return ()
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except OSError:
        return ()


def _highlight(trace: Trace, seq: int, code: Code, lines: tuple[str, ...]) -> int:
    """The line of a running function that a step within it comes from: the one that speaks of what the function did.

    A guard does nothing by itself: what happens within it is looked for instead.
    """
    if seq == code.seq:
        return 0
    path = list(takewhile(lambda event: event.seq != code.seq, (trace[seq], *trace.ancestors(seq))))
    done = [event for event in path if not isinstance(event, ev.GuardEntered)] or path
    for clue in _clues(done[-1]):
        for number, line in enumerate(lines):
            if clue in line and not line.lstrip().startswith("#"):
                return code.line + number
    return 0


def _clues(event: ev.AnyEvent) -> tuple[str, ...]:
    """What the line that caused an event is likely to contain, best guess first."""
    match event:
        case ev.NodeCreated():
            return (f"{plain_node(event.name)}(",)
        case ev.EdgesCollected() | ev.AccumulatorMade():
            return ("set_next_edges", "collect_next_edges")
        case ev.AttributeSaved() | ev.VariableSaved() | ev.VariableNotSaved():
            return (f".{event.name} =", f".{event.name}_ =", f'"{event.name}"')
        case ev.NoNodeMade():
            return ("no_node_made", "compute_requires_grad")
        case ev.HistorySet():
            return ("set_history",)
        case ev.HistoryRebased():
            return ("rebase_history",)
        case ev.FunctionEntered() | ev.FunctionOutput():
            return ("return",)
        case ev.ForwardFormulaEntered():
            return ("forward_formula",)
        case ev.TangentSet():
            return ("set_fw_grad",)
        case ev.GuardEntered() | ev.GuardLeft():
            return (event.guard,)
        case ev.MetaEntered():
            return (f"{event.function.removeprefix('structured_').removesuffix('::meta')}_meta(",)
        case ev.OutputAllocated():
            return (event.method, "set_output", "output", "empty")
        case ev.ProxyCopied():
            return ("finish",)
        case ev.ImplEntered():
            return ("op.target", "op.output", "op0.target")
        case ev.VersionBumped():
            return ("increment_version",)
        case ev.GeometryChanged():
            return ("resize", "as_strided_")
        case ev.ViewMade():
            return ("as_view",)
        case ev.KernelReturned():
            return ("return ",)
        case ev.Dispatched():
            name = event.operator.partition("::")[2].replace(".", "_")
            return (f"{name}.{event.how}(", f"{name}.", f".{event.how}(", "redispatch") if event.how else ()
        case _:
            return ()
