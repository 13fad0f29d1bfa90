"""A program's syntax tree with some of its lines changed. Every line keeps its number, and its text in a trace.

Inserted code has the number of the changed line, so a trace has the new calls there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dispatchviz.explain.comparison.what_if.changes import Change
from dispatchviz.foundation.deep_recursion import deep_recursion
from dispatchviz.foundation.english import listed
from dispatchviz.foundation.errors import DispatchvizError

DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
WITHS = ast.With | ast.AsyncWith

NEAR = 6
"""The number of nearby lines with statements that are named."""


@deep_recursion()
def changed_program(tree: ast.Module, changes: Iterable[Change]) -> ast.Module:
    """Return the tree with all changes. Raise DispatchvizError if a line has nothing that can be changed in this
    way.
    """
    for change in changes:
        if change.what == "skip" and _without_decorator(tree, change.line):
            continue
        place = _place(tree, change.line)
        if place is None:
            raise DispatchvizError(f"{change.text}: {_no_statement(tree, change.line)}")
        new = _changed(place.statements, change)
        for statement in new:
            ast.fix_missing_locations(statement)
        place.suite[place.first : place.first + len(place.statements)] = new
    return tree


class _Place(NamedTuple):
    """The statements of a line, usually one."""

    suite: list[ast.stmt]
    first: int
    statements: list[ast.stmt]


def _place(tree: ast.Module, line: int) -> _Place | None:
    for suite in _suites(tree):  # outer statements come first: for `if x: y = 1` that is the if
        found = [at for at, statement in enumerate(suite) if line in _head(statement)]
        if found:
            return _Place(suite, found[0], suite[found[0] : found[-1] + 1])
    return None


def _suites(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            suite = getattr(node, field, None)
            if isinstance(suite, list) and suite:
                yield suite


def _head(statement: ast.stmt) -> range:
    """Return the lines of a statement. For a statement with a block, the lines before the block."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    suite: list[ast.stmt] = getattr(statement, "body", None) or getattr(statement, "cases", None) or []
    if not suite:
        return range(first, (statement.end_lineno or first) + 1)
    inner = suite[0].lineno if isinstance(suite[0], ast.stmt) else statement.lineno + 1
    return range(first, max(inner, statement.lineno + 1))


def _no_statement(tree: ast.Module, line: int) -> str:
    begins = sorted({_head(each).start for suite in _suites(tree) for each in suite}, key=lambda n: (abs(n - line), n))
    near = sorted(begins[:NEAR])
    some = f"; nearby lines with statements are {listed([str(number) for number in near])}" if near else ""
    return f"the line has no statement{some}"


# -- the changes ------------------------------------------------------------------------------------------------------


def _changed(statements: Sequence[ast.stmt], change: Change) -> list[ast.stmt]:
    """Return the statements that replace some statements."""
    first = statements[0]
    if change.what == "skip":
        return _skipped(statements, change)
    if isinstance(first, DEFINITIONS):
        kind = "class" if isinstance(first, ast.ClassDef) else "function"
        raise DispatchvizError(f"{change.text}: the line defines the {kind} {first.name}; name a line within it")
    if isinstance(first, ast.ImportFrom) and first.module == "__future__":
        raise DispatchvizError(f"{change.text}: an import from __future__ cannot be changed")
    match change.what, change.words:
        case (("device" | "dtype"), (target, *names)):
            return _moved(statements, change, names, f"'{target}'" if change.what == "device" else _torch(target))
        case "requires_grad", (name, *off):
            flag = _expression(f"({name}).requires_grad_({not off})", first)
            return [ast.copy_location(ast.Expr(flag), first), *statements]
    guard = ast.With([ast.withitem(_expression(_guard(change), first))], list(statements))
    return [ast.copy_location(guard, first)]


def _guard(change: Change) -> str:
    """Return the expression after ``with``."""
    match change.what, change.words:
        case (("fallthrough" | "register"), (key, operator)):
            function = "falls_through" if change.what == "fallthrough" else "registered"
            return f"__import__({REGISTRATIONS!r}, fromlist=[{function!r}]).{function}({operator!r}, {key!r})"
        case "autocast", (device,):
            return f"{_torch('autocast')}({device!r})"
        case "autocast", (device, dtype):
            return f"{_torch('autocast')}({device!r}, dtype={_torch(dtype)})"
    return f"{_torch(change.what)}()"


def _torch(name: str) -> str:
    """Return an expression for torch, which the program may have imported under any name or not at all."""
    return f"__import__('torch').{name}"


REGISTRATIONS = "dispatchviz.running.process.line_registrations"
"""The module whose functions register a kernel while a line runs."""


def _expression(text: str, at: ast.stmt | ast.expr) -> ast.expr:
    """Return an expression at the position of a part of the program."""
    expression = ast.parse(text, mode="eval").body
    for part in ast.walk(expression):
        if isinstance(part, ast.expr | ast.keyword):
            ast.copy_location(part, at)
    return expression


def _moved(statements: Sequence[ast.stmt], change: Change, names: Sequence[str], target: str) -> list[ast.stmt]:
    """Return statements that read ``x.to(target)`` where they read ``x``."""
    moved = _Moved(frozenset(names), target)
    new: list[ast.stmt] = [moved.visit(statement) for statement in statements]
    if missing := [name for name in names if name not in moved.found]:
        reads = sorted({node.id for each in statements for node in ast.walk(each) if isinstance(node, ast.Name)})
        what = f"the line does not read {listed(missing, 'or')}"
        raise DispatchvizError(f"{change.text}: {what}; names on it are {listed(reads)}" if reads else what)
    return new


class _Moved(ast.NodeTransformer):
    """A transformer that appends ``.to(target)`` to some names where their values are read."""

    def __init__(self, names: frozenset[str], target: str) -> None:
        self._names, self._target = names, target
        self.found = set[str]()

    def visit(self, node: ast.AST) -> Any:
        """Replace names as the program writes them."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
            name = ast.unparse(node)
            if name in self._names:
                self.found.add(name)
                call = ast.Call(ast.Attribute(node, "to", ast.Load()), [_expression(self._target, node)], [])
                return ast.fix_missing_locations(ast.copy_location(call, node))
        return self.generic_visit(node)


def _skipped(statements: Sequence[ast.stmt], change: Change) -> list[ast.stmt]:
    first = statements[0]
    if isinstance(first, WITHS):
        return first.body
    if hasattr(first, "body") or hasattr(first, "cases"):
        kind = type(first).__name__.removesuffix("Def").lower()
        raise DispatchvizError(
            f"{change.text}: skip removes a statement, a with or a decorator, but not a {kind} with its body"
        )
    return [ast.copy_location(ast.Pass(), first)]


def _without_decorator(tree: ast.Module, line: int) -> bool:
    """Remove the decorator on a line, and return whether there was one."""
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            for mark in node.decorator_list:
                if mark.lineno <= line <= (mark.end_lineno or mark.lineno):
                    node.decorator_list.remove(mark)
                    return True
    return False
