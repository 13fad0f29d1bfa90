"""A second run of a lesson's program, which calls us when chosen lines are done, with the variables at that place.

The second run does the same as the first one, so a line is found again by its number and by how many times it ran
before.
"""

from __future__ import annotations

import ast
import io
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from typing import Any

from dispatchviz.lessons.asked.line_visits import END, Visit
from dispatchviz.running.engines import Engine
from dispatchviz.running.program import run
from dispatchviz.running.statement_calls import line_of

Done = Callable[[Mapping[str, Any]], None]
"""A function that is called with the variables when a line is done."""


class _Visitor:
    """The counts of the lines of a run, and the functions to call."""

    def __init__(self, wanted: Mapping[Visit, Sequence[Done]]) -> None:
        self.lines = {visit.line for visit in wanted}
        self._wanted = wanted
        self._counts: Counter[int] = Counter()
        self._open: dict[tuple[int, int], int] = {}
        """The visits that have begun: by line and frame."""

    def begin(self, line: int, frame: int) -> None:
        self._counts[line] += 1
        self._open[line, frame] = self._counts[line]

    def done(self, line: int, frame: int, variables: Mapping[str, Any]) -> None:
        time = self._open.pop((line, frame), 0)
        for function in self._wanted.get(Visit(line, time), ()):
            function(variables)


_visitors: list[_Visitor] = []
"""The visitor of the current run, if there is one."""


def begin(line: int) -> None:
    """Note that a line begins. The changed program calls this."""
    _visitors[-1].begin(line, id(sys._getframe(1)))


def done(line: int) -> None:
    """Note that a line is done. The changed program calls this."""
    frame = sys._getframe(1)
    _visitors[-1].done(line, id(frame), {**frame.f_globals, **frame.f_locals})


def run_again(script: str, program: str, wanted: Mapping[Visit, Sequence[Done]], engine: Engine) -> None:
    """Run a program again, and call the wanted functions. Nothing is printed."""
    visitor = _Visitor(wanted)
    with _visited(visitor), warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        run(
            script,
            (),
            io.StringIO(),
            rewritten=lambda source: program,
            changed=_Visited(visitor.lines).visit,
            engine=engine,
        )


@contextmanager
def _visited(visitor: _Visitor) -> Iterator[None]:
    _visitors.append(visitor)
    try:
        yield
    finally:
        _visitors.pop()


_WITH_SUITES = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.Match)


class _Visited(ast.NodeTransformer):
    """The transformer that inserts the calls around the wanted lines."""

    def __init__(self, lines: set[int]) -> None:
        self._lines = lines

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = self._suite(node.body)
        if END in self._lines and node.body:
            first = next((k for k, one in enumerate(node.body) if not _must_be_first(one)), len(node.body))
            node.body[first:] = _around(END, node.body[first:] or [ast.Pass(lineno=1, col_offset=0)])
        return ast.fix_missing_locations(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse", "finalbody"):
            suite = getattr(node, name, None)
            if isinstance(suite, list) and isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                setattr(node, name, self._suite(suite))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self.generic_visit(part)
        return node

    def _suite(self, suite: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements, with calls around those of a wanted line."""
        result: list[ast.stmt] = []
        at = 0
        while at < len(suite):
            line = line_of(suite[at])
            same = [one for one in suite[at:] if line_of(one) == line]
            at += len(same)
            for one in same:
                if one.end_lineno != line:  # a suite on the line of its head is no line of its own
                    self.visit(one)
            result += self._visited(line, same) if line in self._lines else same
        return result

    def _visited(self, line: int, same: list[ast.stmt]) -> list[ast.stmt]:
        if _must_be_first(same[0]):
            return same
        head = same[0]
        if len(same) > 1 or not isinstance(head, _WITH_SUITES) or head.lineno == head.end_lineno:
            return _around(line, same)
        _at_heads_end(head, line)
        return same if isinstance(head, ast.While) else [_call("begin", line, head), head]


def _at_heads_end(head: ast.stmt, line: int) -> None:
    """Insert the call at the beginning of each suite of a statement, where its first line is done."""
    begins = [_call("begin", line, head)] if isinstance(head, ast.While) else []
    for part in (head, *getattr(head, "cases", ())):
        for name in ("body", "orelse"):
            if hasattr(part, name):  # an empty ``else`` runs, too
                setattr(part, name, [*begins, _call("done", line, head), *getattr(part, name)])


def _must_be_first(statement: ast.stmt) -> bool:
    """Return whether Python requires a statement at the beginning of the file."""
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _around(line: int, same: list[ast.stmt]) -> list[ast.stmt]:
    head = same[0]
    block = ast.copy_location(ast.Try(same, [], [], [_call("done", line, head)]), head)
    return [_call("begin", line, head), block]


def _call(name: str, line: int, at: ast.stmt) -> ast.stmt:
    """Return a statement that calls a function of this module. The program has no name for it."""
    source = f"__import__({__name__!r}, fromlist=[{name!r}]).{name}({line})"
    statement = ast.parse(source).body[0]
    for part in ast.walk(statement):
        if isinstance(part, ast.expr | ast.stmt):
            ast.copy_location(part, at)
    return statement
