"""The calls within the expressions of a program: frames that begin, wait or end there, and variables that are bound."""

from __future__ import annotations

import ast

from dispatchviz.running.bound_names import SCOPES
from dispatchviz.running.inserted_calls import (
    AWAY,
    BINDS,
    HERE,
    SAME,
    SAME_VALUE,
    SAME_WITHIN,
    WITHIN,
    call,
    gate,
    located,
)
from dispatchviz.running.recorded_part import RecordedPart

_INNER = ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp


class ExpressionCalls(ast.NodeTransformer):
    """The transformer for frames that begin, wait or end within an expression, and for variables that are bound in one.

    Annotations are left unchanged, because they may be kept as text.
    """

    def __init__(self, part: RecordedPart) -> None:
        self._is_gated = part.gate is not None
        self._scope: list[str] = []
        self._inner = 0
        """The number of lambdas and comprehensions around. Names bound in them are ignored, because they have frames of
        their own.
        """

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit everything except annotations."""
        annotations = [(name, getattr(node, name, None)) for name in ("annotation", "returns")]
        for name, annotation in annotations:
            if annotation is not None:
                setattr(node, name, None)
        self._visit_within(node)
        for name, annotation in annotations:
            if annotation is not None:
                setattr(node, name, annotation)
        return node

    def _visit_within(self, node: ast.AST) -> None:
        scope, inner = self._scope, self._inner
        self._inner += isinstance(node, _INNER)
        if isinstance(node, SCOPES):
            body, node.body = node.body, []
            super().generic_visit(node)  # decorators and defaults belong to the scope around
            self._scope = [*scope, node.name]
            node.body = [self.visit(statement) for statement in body]
        else:
            super().generic_visit(node)
        self._scope, self._inner = scope, inner

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        if not self._inner:
            name = ast.Constant(node.target.id)
            node.value = self._call(node, BINDS, ast.Constant(".".join(self._scope)), name, node.value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        node.body = self._entered_and_left(node.body)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        node.elt = self._entered_and_left(node.elt)
        for part in node.generators:
            part.ifs = [self._entered_and_left(condition) for condition in part.ifs]
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        self.generic_visit(node)
        node.value = self._call(node, AWAY, *([node.value] if node.value else []))
        return self._call(node, HERE, node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        self.generic_visit(node)
        return self._call(node, HERE, node)

    def visit_Await(self, node: ast.Await) -> ast.AST:
        self.generic_visit(node)
        return self._call(node, HERE, node)

    def _entered_and_left(self, value: ast.expr) -> ast.expr:
        """Return ``within()(value)``."""
        return ast.copy_location(ast.Call(self._call(value, WITHIN), [value], []), value)

    def _call(self, at: ast.expr, what: str, *args: ast.expr) -> ast.Call:
        """Return a call. While the gate is closed, it only returns its last argument."""
        report = call(at, what, *args).value
        assert isinstance(report, ast.Call)
        if self._is_gated:
            report.func = located(ast.IfExp(gate(), report.func, ast.Constant(_UNREPORTED[what])), at)
        return report


_UNREPORTED = {BINDS: SAME_VALUE, AWAY: SAME, HERE: SAME, WITHIN: SAME_WITHIN}
"""The function that is called within an expression while the gate is closed."""
