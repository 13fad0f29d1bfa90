"""The line that raised: its calls, its subscripts, and the tensors that its expressions name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dispatchviz.explain.diagnosis.arguments import Argument, argument
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.trace_index.enclosing_steps import source_lines
from dispatchviz.explain.trace_index.trace_index import index


def line_tree(failure: Failure, file: str = "", line: int = 0) -> ast.AST | None:
    """Return the tree of the line that raised, or of another line. For a line that begins a block, only the head."""
    if not file:
        at = failure.line
        if at is None:
            return None
        file, line = at.file, at.line
    lines = source_lines(failure.trace, file)
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    head = text.removeprefix("el") + " pass" if text.endswith(":") else text
    for each in (head, text.rstrip(":").partition(" ")[2]):
        try:
            return ast.parse(each)
        except SyntaxError:
            continue
    return None


def calls_on_line(failure: Failure, name: str = "") -> Iterator[ast.Call]:
    """Yield the calls on the line that raised, of a function or method of that name."""
    tree = line_tree(failure)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and name in ("", _called(node.func)):
            yield node


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def subscripts(failure: Failure) -> Iterator[tuple[ast.Subscript, Argument]]:
    """Yield ``x[...]`` on the line that raised, with the tensor that ``x`` names."""
    tree = line_tree(failure)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Subscript) and (found := tensor_of(failure, node.value)) is not None:
            yield node, found


def tensor_of(failure: Failure, node: ast.expr) -> Argument | None:
    """Return the tensor that an expression names at the line that raised, or None if it is not a variable of one."""
    tensor = index(failure.trace).holder(ast.unparse(node), failure.raised)
    return None if tensor is None else argument(failure.trace, tensor, failure.raised)


def tensors_on_line(failure: Failure) -> tuple[Argument, ...]:
    """Return the tensors that the line names, each once, in order."""
    tree = line_tree(failure)
    names = () if tree is None else (node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute))
    found = (tensor_of(failure, node) for node in names if isinstance(node, ast.Name | ast.Attribute))
    return tuple({each.tensor: each for each in found if each is not None}.values())
