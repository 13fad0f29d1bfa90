"""An example of each kind of sentence, from the simplest program that has one."""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dispatchviz.explain.sentences import rule, statements
from dispatchviz.explain.statement import Statement
from dispatchviz.program import run
from dispatchviz.trace import Trace
from scripts.programs import PROGRAMS

ROOT = Path(__file__).parents[2]


class Example(NamedTuple):
    """A sentence where it was said."""

    statement: Statement
    program: str
    """``examples/forum.py``, or the name of one of ``scripts/programs``."""
    line: int
    """Of the program; 0 if the step belongs to none."""
    rule: str
    function: str
    file: str


def examples(wanted: frozenset[str]) -> dict[str, Example]:
    """Of each wanted kind the first example: the founding program first, then the shortest programs."""
    found: dict[str, Example] = {}
    for program in sources():
        for example in said_by(program):
            found.setdefault(example.statement.kind, example)
        if wanted <= found.keys():
            break
    return found


def sources() -> list[str]:
    """The programs that are searched, in this order."""
    shipped = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*.py"))
    first = ["examples/forum.py"]
    return [*first, *(name for name in shipped if name not in first), *sorted(PROGRAMS, key=_size)]


def _size(name: str) -> tuple[int, str]:
    return len(PROGRAMS[name]), name


def said_by(program: str) -> Iterator[Example]:
    """All that is said about a program, step by step."""
    trace = trace_of(program)
    lines = _lines(trace)
    for event in trace:
        for statement in statements(trace, event.seq):
            text, function, file = rule(event)
            yield Example(statement, program, lines[event.seq], text, function, file)


def trace_of(program: str) -> Trace:
    """Runs a program as ``dispatchviz trace`` does."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = ROOT / program
        if program in PROGRAMS:
            path = Path(folder) / f"{program}.py"
            path.write_text(PROGRAMS[program], "utf-8")
        with contextlib.redirect_stderr(io.StringIO()):
            return run(str(path), output=io.StringIO()).trace


def _lines(trace: Trace) -> list[int]:
    """The line of each step."""
    found, line = [], 0
    for event in trace:
        line = getattr(event, "line") if type(event).__name__ == "SourceLine" else line  # noqa: B009
        found.append(line)
    return found
