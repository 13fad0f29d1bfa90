"""A second copy of the package in the same process, compiled without the recording seam.

Every ``if recorder.active is not None`` is removed before a module is compiled. The rest is the machine as if recording
were impossible. The copy exists beside the first one, and both use the same NumPy.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

PACKAGE = "dispatchviz"


@contextmanager
def package_without_seam() -> Iterator[ModuleType]:
    """Yield the copy's ``torch``. Inside the block, ``import dispatchviz`` means the copy."""
    first = _forget_package()
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield importlib.import_module(f"{PACKAGE}.torch")
    finally:
        sys.meta_path.remove(finder)
        _forget_package()
        sys.modules.update(first)


def _forget_package() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]
    return {name: sys.modules.pop(name) for name in names}


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(name, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)  # never from the cache

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        tree = ast.fix_missing_locations(_Folded().visit(ast.parse(data)))
        code: CodeType = compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)
        return code


class _Folded(ast.NodeTransformer):
    """A transformer that treats ``recorder.active`` and every ``rec`` as None."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if _is_recorder(node.value) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if _is_recorder(node.left) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return ast.copy_location(ast.Constant(isinstance(node.ops[0], ast.Is)), node)
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        decisive = isinstance(node.op, ast.Or)
        values = [v for v in node.values if not (isinstance(v, ast.Constant) and v.value is (not decisive))]
        if any(isinstance(value, ast.Constant) and value.value is decisive for value in values):
            return ast.copy_location(ast.Constant(decisive), node)
        if len(values) == 1:
            return values[0]
        node.values = values or [ast.Constant(not decisive)]
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not isinstance(node.test, ast.Constant):
            return node
        return (node.body if node.test.value else node.orelse) or [ast.copy_location(ast.Pass(), node)]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.test, ast.Constant):
            return node
        return node.body if node.test.value else node.orelse


def _is_recorder(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="recorder"), attr="active") | ast.Name(id="rec"):
            return True
    return False
