"""The variables that the statements of a program bind, delete or change."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

LOOPS = ast.For | ast.AsyncFor | ast.While
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = FUNCTIONS | ast.ClassDef


def bound_by(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the variables that an assignment binds, in order; none for any other node."""
    for target in _targets(node):
        yield from _variables(target)


def bound_at_entry(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the variables that are bound when the suite of a node begins: those of a loop, and those of ``with``."""
    if isinstance(node, ast.For | ast.AsyncFor):
        yield from _variables(node.target)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if item.optional_vars is not None:
                yield from _variables(item.optional_vars)


def deleted_by(statement: ast.stmt) -> Iterator[ast.Name]:
    """Yield the variables that a ``del`` deletes."""
    if isinstance(statement, ast.Delete):
        for target in statement.targets:
            yield from _variables(target)


_CHANGING = frozenset(
    ["append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem"]
)
"""The methods of lists and dictionaries that add, remove or reorder items."""


def changed_by(statement: ast.stmt) -> Iterator[ast.Name]:
    """Yield the variables whose items or attributes a statement changes: ``ws[0] = w``, ``ws.append(w)``, ``net.w =
    w``.
    """
    targets = statement.targets if isinstance(statement, ast.Delete) else _targets(statement)
    for target in targets:
        if isinstance(target, ast.Subscript | ast.Attribute) and isinstance(target.value, ast.Name):
            yield target.value
    match statement:
        case ast.Expr(value=called) | ast.Assign(value=called):
            match called:
                case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=method)) if method in _CHANGING:
                    yield name
                case ast.Call(func=ast.Name("setattr" | "delattr"), args=[ast.Name() as name, *_]):
                    yield name


def names_bound_in_iterations(tree: ast.AST) -> frozenset[str]:
    """Return the variables that exactly one statement within loops and functions binds."""
    counts = Counter(_bound_again_and_again(tree, False))
    in_expressions = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)}
    return frozenset(name for name, count in counts.items() if count == 1) - in_expressions


def _bound_again_and_again(node: ast.AST, again: bool) -> Iterator[str]:
    """Yield the variables that statements within loops and functions bind, and those of the loops themselves."""
    if again or isinstance(node, ast.For | ast.AsyncFor):
        yield from (name.id for name in (*bound_at_entry(node), *bound_by(node)))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _bound_again_and_again(child, again or isinstance(node, LOOPS | SCOPES))


def _targets(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AugAssign(target=target):
            return [target]
        case ast.AnnAssign(target=target, value=ast.expr()):
            return [target]
    return []


def _variables(target: ast.expr) -> Iterator[ast.Name]:
    """Yield the plain variables of an assignment's left side, in order."""
    match target:
        case ast.Name():
            yield target
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _variables(part)
        case ast.Starred(value=value):
            yield from _variables(value)
