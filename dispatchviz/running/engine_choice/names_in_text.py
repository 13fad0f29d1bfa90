"""The names of PyTorch that the text of a file uses, and the modules that it imports.

The names are those of PyTorch's modules, whatever the text calls them: after ``import torch.nn.functional as F``, the
expression ``F.relu`` uses ``torch.nn.functional.relu``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from dispatchviz.running.torch_names import is_torch

LAYOUT = "layout="
"""The beginning of the name for a layout that a call asks for: ``layout=torch.sparse_coo``."""

NO_MODULE = frozenset(["ImportError", "ModuleNotFoundError", "Exception", "BaseException"])
"""Exceptions whose handler expects that a module is missing."""

NO_NAME = frozenset(["AttributeError"])
"""Exceptions whose handler expects that an attribute is missing."""


class Use(NamedTuple):
    """A place that uses a name."""

    name: str
    """The name of PyTorch (``torch.nn.functional.relu``), or of an attribute of any object (``to_sparse``)."""
    line: int
    surely: bool
    """True if the statement runs whenever the file runs: it is in no function and no branch."""


class Import(NamedTuple):
    """An import of a module, or of names from it."""

    module: str
    names: tuple[str, ...]
    level: int
    """The number of dots of a relative import."""
    line: int
    surely: bool


class NamesInText(NamedTuple):
    """The names in the text of one file."""

    uses: tuple[Use, ...]
    attributes: tuple[Use, ...]
    """Attributes of objects that the text does not name, each with its first place."""
    imports: tuple[Import, ...]
    defined: frozenset[str]
    """Names of functions, classes, variables and attributes that the text itself sets."""
    checked: frozenset[str]
    """Names of PyTorch that the text sets, or checks before it uses them."""
    cuda: tuple[Use, ...]
    """Places that ask for the device ``cuda``."""

    @property
    def torch_at_start(self) -> bool:
        """True if running the file imports torch."""
        return any(each.surely and is_torch(each.module) for each in self.imports)


def names_in(text: str, is_main: bool, known: Mapping[str, str] = MappingProxyType({})) -> NamesInText:
    """Read a text. Raise what ``ast.parse`` raises.

    ``is_main`` counts ``if __name__ == "__main__"`` as run. ``known`` has the meanings of variables that the text does
    not set.
    """
    tree = ast.parse(text)
    reader = _Reader(tree, is_main, known)
    reader.visit(tree)
    attributes = {each.name: each for each in reversed(reader.attributes)}
    return NamesInText(
        tuple(reader.uses),
        tuple(attributes.values()),
        tuple(reader.imports),
        frozenset(reader.defined),
        frozenset(reader.checked),
        tuple(reader.cuda),
    )


class _Reader(ast.NodeVisitor):
    """A visitor that collects the names."""

    def __init__(self, tree: ast.Module, is_main: bool, known: Mapping[str, str]) -> None:
        self.uses: list[Use] = []
        self.attributes: list[Use] = []
        self.imports: list[Import] = []
        self.defined: set[str] = set()
        self.checked: set[str] = set()
        self.cuda: list[Use] = []
        self._is_main = is_main
        self._surely = True
        self._expected: frozenset[str] = frozenset()
        self._annotations_run = True
        self._meaning = dict(known)
        self._bind(tree)

    # -- what the names of the text mean ------------------------------------------------------------------------------

    def _bind(self, tree: ast.Module) -> None:
        """Note the meaning of each variable that is bound to a name of PyTorch: ``F`` -> ``torch.nn.functional``."""
        found: dict[str, str] = {}
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    found[bound] = alias.name if alias.asname else bound
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
                self._annotations_run &= not (
                    node.module == "__future__" and any(alias.name == "annotations" for alias in node.names)
                )
        self._meaning.update({name: path for name, path in found.items() if is_torch(path)})
        for node in nodes:
            if isinstance(node, ast.Assign) and (path := self._path(node.value)):
                self._meaning.update({target.id: path for target in node.targets if isinstance(target, ast.Name)})

    def _path(self, node: ast.AST) -> str:
        """Return the name of PyTorch that an expression is (``torch.nn.Linear``); empty if it is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        root = self._meaning.get(node.id) if isinstance(node, ast.Name) else None
        return "" if root is None else ".".join([root, *reversed(parts)])

    # -- uses ---------------------------------------------------------------------------------------------------------

    def _use(self, name: str, line: int, expected: frozenset[str]) -> None:
        """Note a use, or that the text is prepared for a name that does not exist."""
        if self._expected & expected:
            self.checked.add(name)
        else:
            self.uses.append(Use(name, line, self._surely))

    def visit_Import(self, node: ast.Import) -> None:
        """Note imports of modules."""
        for alias in node.names:
            self._imported(alias.name, (), 0, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Note imports of names."""
        self._imported(node.module or "", tuple(alias.name for alias in node.names), node.level, node.lineno)

    def _imported(self, module: str, names: tuple[str, ...], level: int, line: int) -> None:
        surely = self._surely and not self._expected & NO_MODULE
        self.imports.append(Import(module, names, level, line, surely))
        if not level and is_torch(module):
            for name in [f"{module}.{each}" for each in names if each != "*"] or [module]:
                self._use(name, line, NO_MODULE)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note a name of PyTorch, or the attribute of another object."""
        path = self._path(node)
        if not path:
            self._attribute(node)
            self.visit(node.value)
        elif not isinstance(node.ctx, ast.Load):
            self.checked.add(path)
        else:
            self._use(path, node.lineno, NO_NAME)

    def _attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            self.defined.add(node.attr)
        elif not self._expected & NO_NAME:
            self.attributes.append(Use(node.attr, node.lineno, self._surely))
            if node.attr == "cuda":
                self.cuda.append(Use("cuda", node.lineno, self._surely))

    def visit_Name(self, node: ast.Name) -> None:
        """Note a variable that the text sets."""
        if not isinstance(node.ctx, ast.Load):
            self.defined.add(node.id)

    def visit_Call(self, node: ast.Call) -> None:
        """Note names that ``hasattr`` and ``getattr`` look up, layouts, and the device ``cuda``."""
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        asked = self._looked_up(node) if function in ("hasattr", "getattr") else ""
        if asked and (function == "hasattr" or len(node.args) == 3):
            self.checked.add(asked)
        elif asked:
            self._use(asked, node.lineno, NO_NAME)
        if any(map(_is_cuda, self._devices(node))):
            self.cuda.append(Use("cuda", node.lineno, self._surely))
        for keyword in node.keywords:
            if keyword.arg == "layout" and (path := self._path(keyword.value)):
                self._use(LAYOUT + path, node.lineno, frozenset())
        self.generic_visit(node)

    def _devices(self, node: ast.Call) -> list[ast.expr]:
        """Return the arguments of a call that name devices."""
        named = [keyword.value for keyword in node.keywords if keyword.arg == "device"]
        is_to = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
        return [*named, *(node.args if is_to or self._path(node.func) == "torch.device" else ())]

    def _looked_up(self, node: ast.Call) -> str:
        """Return the name that ``hasattr(torch, "x")`` looks up; empty if the text does not show it."""
        if len(node.args) < 2 or not (path := self._path(node.args[0])):
            return ""
        name = node.args[1]
        return f"{path}.{name.value}" if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""

    # -- which parts run ----------------------------------------------------------------------------------------------

    @contextmanager
    def _perhaps(self, expected: frozenset[str] = frozenset()) -> Iterator[None]:
        """Read parts that may not run, or that may raise one of the expected exceptions."""
        before = self._surely, self._expected
        self._surely, self._expected = False, self._expected | expected
        try:
            yield
        finally:
            self._surely, self._expected = before

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _visit_later(self, nodes: Iterable[ast.AST | None]) -> None:
        with self._perhaps():
            self._visit_all(nodes)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Read a function: its decorators and defaults run at once, its body later."""
        self.defined.add(node.name)
        self._visit_all([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults])
        if self._annotations_run:
            every = (*node.args.posonlyargs, *node.args.args, node.args.vararg, *node.args.kwonlyargs, node.args.kwarg)
            self._visit_all([*(each.annotation for each in every if each is not None), node.returns])
        self._visit_later(node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Read a coroutine like a function."""
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Read a function without a name."""
        self._visit_all([*node.args.defaults, *node.args.kw_defaults])
        self._visit_later([node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Read a class, whose body runs at once."""
        self.defined.add(node.name)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Read a variable with an annotation."""
        self._visit_all([node.target, node.value, node.annotation if self._annotations_run else None])

    def visit_If(self, node: ast.If) -> None:
        """Read a branch. Type checkers alone read ``if TYPE_CHECKING``."""
        test = ast.unparse(node.test)
        if test.rpartition(".")[2] == "TYPE_CHECKING":
            self._visit_later(node.orelse)
        elif isinstance(node.test, ast.Compare) and "__name__" in test and "__main__" in test:
            self._visit_all(node.body if self._is_main else node.orelse)
        else:
            self.visit(node.test)
            self._visit_later([*node.body, *node.orelse])

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Read ``a if test else b``."""
        self.visit(node.test)
        self._visit_later([node.body, node.orelse])

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Read ``a and b``."""
        self.visit(node.values[0])
        self._visit_later(node.values[1:])

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        """Read a loop, which may have no iteration."""
        self._visit_all([node.iter, node.target])
        self._visit_later([*node.body, *node.orelse])

    def visit_AsyncFor(self, node: ast.AsyncFor) -> None:
        """Read a loop of a coroutine."""
        self.visit_For(node)

    def visit_While(self, node: ast.While) -> None:
        """Read a loop."""
        self.visit(node.test)
        self._visit_later([*node.body, *node.orelse])

    def visit_Match(self, node: ast.Match) -> None:
        """Read a match statement."""
        self.visit(node.subject)
        self._visit_later(node.cases)

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        """Read a try statement. Its handlers say which exceptions the body expects."""
        if node.handlers:
            with self._perhaps(frozenset().union(*(_caught(each.type) for each in node.handlers))):
                self._visit_all(node.body)
        else:
            self._visit_all(node.body)
        self._visit_later([*node.handlers, *node.orelse])
        self._visit_all(node.finalbody)

    def visit_TryStar(self, node: ast.TryStar) -> None:
        """Read a try statement with ``except*``."""
        self.visit_Try(node)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        """Read a with statement. ``suppress`` works like handlers."""
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        suppressed = [arg for call in calls if ast.unparse(call.func).endswith("suppress") for arg in call.args]
        self._visit_all(node.items)
        if suppressed:
            with self._perhaps(frozenset().union(*map(_caught, suppressed))):
                self._visit_all(node.body)
        else:
            self._visit_all(node.body)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> None:
        """Read a with statement of a coroutine."""
        self.visit_With(node)


def _is_cuda(node: ast.expr) -> bool:
    """Return whether an argument names the device ``cuda``."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.partition(":")[0] == "cuda"


def _caught(kind: ast.expr | None) -> frozenset[str]:
    """Return the names of the exceptions that a handler catches."""
    if kind is None:
        return frozenset(["BaseException"])
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return frozenset(ast.unparse(each).rpartition(".")[2] for each in kinds)
