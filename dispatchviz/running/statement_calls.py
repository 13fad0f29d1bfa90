"""The calls before and after the statements of a program: lines that are reached, variables that are bound, iterations,
and frames that begin or end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dispatchviz.running.bound_names import (
    FUNCTIONS,
    LOOPS,
    SCOPES,
    bound_at_entry,
    bound_by,
    changed_by,
    deleted_by,
)
from dispatchviz.running.inserted_calls import (
    AWAY,
    BEGIN,
    COUNT,
    ELSEWHERE,
    HERE,
    ITEMS,
    ITERATION,
    LINE,
    LOOK,
    LOOP_OVER,
    LOOPS_AGAIN,
    NAME,
    call,
    gate,
    located,
)
from dispatchviz.running.recorded_part import RecordedPart


class StatementCalls(ast.NodeTransformer):
    """The transformer that inserts the calls, suite by suite. With ``blocks`` it also inserts those that need a block
    around a suite.
    """

    def __init__(self, part: RecordedPart, blocks: bool = True) -> None:
        self.part = part
        self._scope: list[str] = []
        self._loops: list[ast.stmt] = []
        self._selects = False
        """True in a scope with selected lines."""
        self._blocks = blocks
        self.in_iterations: frozenset[str] = frozenset()
        """Variables that only one statement within loops and functions binds."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self._selects = self._has_selected(node)
        node.body = self._suite(node.body, 0, documented=True)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit statements with suites. An expression contains no statement and is left unchanged."""
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            self._visit_suites(node)
        return node

    def _visit_suites(self, node: ast.AST) -> None:
        outside = self._selects
        if isinstance(node, SCOPES):
            self._scope.append(node.name)
            self._selects = self._has_selected(node)
        # a suite on the line of its head is a line of its own only if it runs at another time
        head = node.lineno if isinstance(node, ast.stmt) and not isinstance(node, SCOPES | LOOPS) else 0
        bound = [*self._counted(node), *self._bound_at_entry(node)]
        for field in ("body", "orelse", "finalbody"):
            suite = getattr(node, field, None)
            if isinstance(suite, list):
                entry = bound if field == "body" else []
                inside = isinstance(node, LOOPS) and field == "body"
                self._loops += [node] if inside else []  # type: ignore[list-item]
                begins = isinstance(node, FUNCTIONS)
                setattr(node, field, entry + self._suite(suite, head, isinstance(node, SCOPES), begins))
                if inside:
                    getattr(node, field).append(self._report(self._loops.pop(), HERE))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self._visit_suites(part)
        if isinstance(node, ast.While):
            node.test = self._line_then(node.test, node.lineno)
        if isinstance(node, SCOPES):
            self._scope.pop()
            self._selects = outside
            self._finally(node, AWAY, _first_real(node.body, documented=True))
        if isinstance(node, ast.With | ast.AsyncWith):
            self._finally(node, HERE, 0)

    def _finally(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.With | ast.AsyncWith,
        what: str,
        first: int,
    ) -> None:
        """Wrap a suite as ``try: suite finally: call``."""
        if self._blocks and node.body[first:]:
            block = ast.Try(node.body[first:], [], [], [self._report(node, what)])
            node.body[first:] = [ast.copy_location(block, node)]

    def _suite(self, suite: list[ast.stmt], line: int, documented: bool, begins: bool = False) -> list[ast.stmt]:
        """Return the statements with their calls. ``line`` has been reported already; ``begins`` is True for the suite
        of a function.
        """
        first = _first_real(suite, documented)
        result = suite[:first]
        for statement in suite[first:]:
            if line_of(statement) != line:
                line = line_of(statement)
                result += self._selection(statement, line)
                reports_itself = isinstance(statement, ast.While)  # its condition does so in each iteration
                if begins or not reports_itself:
                    announced = ast.Constant(0 if reports_itself else line)
                    result.append(self._report(statement, BEGIN if begins else LINE, announced))
                begins = False
            if isinstance(statement, ast.Continue):
                result.append(self._report(self._loops[-1], HERE))
            is_counted = self._is_counted(statement)
            self.visit(statement)
            result.append(_until_over(statement) if is_counted else statement)
            repeats = bool(self._scope or self._loops)
            result += [self._bind(name, repeats) for name in bound_by(statement)]
            result += map(self._unbind, deleted_by(statement))
            result += map(self._items, changed_by(statement))
        return result

    def _bound_at_entry(self, node: ast.AST) -> Iterator[ast.stmt]:
        """Return calls for a loop's variables and for the names of ``with``, which are bound when the suite begins, on
        the line of its head.
        """
        repeats = bool(self._scope or self._loops or isinstance(node, LOOPS))
        return (self._bind(name, repeats) for name in bound_at_entry(node))

    def _is_counted(self, node: ast.AST) -> bool:
        """Return whether the iterations of a loop are counted."""
        return isinstance(node, LOOPS) and self._blocks and self.part.counts(node.lineno, not self._loops)

    def _counted(self, node: ast.AST) -> Iterator[ast.stmt]:
        """Yield a call at the beginning of each iteration of a counted loop."""
        if isinstance(node, LOOPS) and self._is_counted(node):
            yield call(node, LOOPS_AGAIN, ast.Constant(node.lineno))

    def _has_selected(self, scope: ast.AST) -> bool:
        """Return whether selected lines are in a scope, or in one within it."""
        lines = {line_of(one) for one in ast.walk(scope) if isinstance(one, ast.stmt)} if self.part.lines else ()
        return any(map(self.part.opens_at, lines))

    def _selection(self, statement: ast.stmt, line: int) -> Iterator[ast.stmt]:
        """Yield a call that opens the gate before a selected line, and one that may close it before another line."""
        if self.part.opens_at(line):
            yield call(statement, LOOK)
        elif self._selects:
            yield self._report(statement, ELSEWHERE)

    def _report(self, at: ast.stmt | ast.expr, what: str, *args: ast.expr) -> ast.Expr:
        """Return a call that is made only while the gate is open."""
        report = call(at, what, *args)
        if self.part.gate is not None:
            report.value = located(ast.BoolOp(ast.And(), [gate(), report.value]), at)
        return report

    def _bind(self, name: ast.Name, repeats: bool = False) -> ast.stmt:
        if not (repeats and name.id in self.in_iterations):
            return self._about(name, NAME, _value_of(name))
        bound = self._about(name, ITERATION, _value_of(name))
        if self.part.gate is not None:  # bindings are counted even if they are not recorded
            assert isinstance(bound.value, ast.BoolOp)
            otherwise = call(name, f"{COUNT}{name.id}").value
            bound.value = located(ast.IfExp(gate(), bound.value.values[1], otherwise), name)
        return bound

    def _unbind(self, name: ast.Name) -> ast.stmt:
        return self._about(name, NAME, ast.Constant(None))

    def _items(self, name: ast.Name) -> ast.stmt:
        return self._about(name, ITEMS, _value_of(name))

    def _about(self, name: ast.Name, what: str, value: ast.expr) -> ast.Expr:
        return self._report(name, what, ast.Constant(".".join(self._scope)), ast.Constant(name.id), value)

    def _line_then(self, test: ast.expr, line: int) -> ast.expr:
        """Return a loop's condition that reports its line each time. The call returns None, so ``or`` gives the
        condition.
        """
        report = self._report(test, LINE, ast.Constant(line)).value
        return ast.copy_location(ast.BoolOp(ast.Or(), [report, test]), test)


def _until_over(loop: ast.stmt) -> ast.stmt:
    """Return a loop within a block that reports its end."""
    return ast.copy_location(ast.Try([loop], [], [], [call(loop, LOOP_OVER, ast.Constant(loop.lineno))]), loop)


def _first_real(suite: list[ast.stmt], documented: bool) -> int:
    """Return the number of statements that must stay first: the docstring and ``from __future__`` imports."""
    at = 0
    if documented and ast.get_docstring(ast.Module(suite, []), clean=False) is not None:
        at = 1
    while at < len(suite) and _is_future(suite[at]):
        at += 1
    return at


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def line_of(statement: ast.stmt) -> int:
    """Return the line of a statement. A decorated definition begins at its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _value_of(name: ast.Name) -> ast.expr:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)
