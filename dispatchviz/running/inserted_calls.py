"""The calls that are inserted into a program: the constants in whose place the compiled code has the functions."""

from __future__ import annotations

import ast
from typing import TypeVar

PREFIX = "\0dispatchviz "
LINE, BEGIN, NAME, ITERATION, BINDS, ITEMS, HERE, AWAY, WITHIN = (
    f"{PREFIX}{what}" for what in ("line", "begin", "name", "iteration", "binds", "items", "here", "away", "within")
)
"""Constants that no normal program contains. The compiled code has the functions to call in their place."""
GATE, LOOK, ELSEWHERE, LOOPS_AGAIN, LOOP_OVER, SAME, SAME_VALUE, SAME_WITHIN = (
    f"{PREFIX}{what}"
    for what in ("gate", "look", "elsewhere", "loops again", "loop over", "same", "same value", "same within")
)
"""The same for a recording of a part. ``SAME`` and the others return their last argument. They replace functions of
the watcher while the gate is closed.
"""
COUNT = f"{PREFIX}count "
"""The beginning of a constant for the function that counts a binding of the variable whose name follows."""

Node = TypeVar("Node", bound=ast.AST)


def gate() -> ast.expr:
    """Return the expression that is true while the gate is open."""
    return ast.Attribute(ast.Constant(GATE), "open", ast.Load())


def located(expression: Node, at: ast.stmt | ast.expr) -> Node:
    """Give all parts of an expression that have none a position."""
    for part in ast.walk(expression):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, at)
    return expression


def call(at: ast.stmt | ast.expr, what: str, *args: ast.expr) -> ast.Expr:
    """Return a statement that calls the function in the place of a constant."""
    return located(ast.Expr(ast.Call(ast.Constant(what), list(args), [])), at)
