"""The module that a parameter belongs to, and the facts about it in the program's text: the class, the line, the call.

The recording has the parameter's path, ``net.2.weight``. The class is read from the program's text, but only if it is
unambiguous: ``net`` is assigned once, and so is each attribute on the path.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import numbered

RETURN_SELF = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "half",
        "float",
        "double",
        "bfloat16",
        "train",
        "eval",
        "requires_grad_",
        "type",
        "share_memory",
        "apply",
        "to_empty",
    ]
)
"""The methods of a module that return it."""

MOST = 10_000
"""The number of calls of modules that are read."""


class Made(NamedTuple):
    """The call in the program's text that creates a module."""

    kind: str
    """Its class: ``Linear``."""
    line: int
    text: str
    """``nn.Linear(64, 10)``"""
    call: ast.Call


def module_path(trace: Trace, tensor: int, at: int) -> str:
    """Return the path of a parameter's module: ``net.2`` for the parameter ``net.2.weight``; empty for other
    tensors.
    """
    return _path(trace, tensor, at).rpartition(".")[0]


def shown_module(trace: Trace, tensor: int, at: int) -> str:
    """Return ``net.2 (Linear)``, or ``net.2`` if the class is unknown; empty if there is no module."""
    path, made = module_path(trace, tensor, at), module_made(trace, tensor, at)
    short = index(trace).shown(_path(trace, tensor, at)).rpartition(".")[0] or path
    kind = made.kind if made is not None else _called_kind(trace, path)
    return f"{short} ({kind})" if kind else short


def _called_kind(trace: Trace, path: str) -> str:
    """Return the class of a module that the program calls; empty if it is not among the first calls."""
    calls = map(trace.__getitem__, trace.steps_of(ev.ModuleCalled)[:MOST]) if path else ()
    return next((call.kind for call in calls if isinstance(call, ev.ModuleCalled) and call.name == path), "")


def module_made(trace: Trace, tensor: int, at: int) -> Made | None:
    """Return the call that creates the module of a parameter, or None if the program's text is ambiguous."""
    path = module_path(trace, tensor, at)
    call = _made(trace.header.sources.get(trace.header.program, ""), path) if path else None
    name = "" if call is None else _last_name(call.func)
    return Made(name, call.lineno, ast.unparse(call), call) if call is not None and name[:1].isupper() else None


def program_nodes(trace: Trace) -> list[ast.AST]:
    """Return the nodes of the program's text; empty if it is missing or not Python."""
    tree = _parsed(trace.header.sources.get(trace.header.program, ""))
    return [] if tree is None else list(ast.walk(tree))


def _path(trace: Trace, tensor: int, at: int) -> str:
    known = index(trace)
    name = known.name(tensor, at) or known.lost_name(tensor, at)[0]
    return name if "." in name and "[" not in name else ""


@lru_cache(maxsize=64)
def _made(source: str, path: str) -> ast.Call | None:
    """Return the call whose value is at a path, such as ``net.layers.0``."""
    tree = _parsed(source)
    if tree is None:
        return None
    variable, *parts = path.split(".")
    found = _only(_assigned(tree, variable))
    for part in parts:
        found = None if found is None else _part(tree, found, part)
    return found


@lru_cache(maxsize=16)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def _assigned(tree: ast.AST, target: str) -> Iterator[ast.Call | None]:
    """Yield the calls that are assigned to a variable or an attribute (``self.fc``), and None for each other value."""
    for node in ast.walk(tree):
        if (isinstance(node, ast.Assign) and any(ast.unparse(each) == target for each in node.targets)) or (
            isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and ast.unparse(node.target) == target
        ):
            yield _plain_call(node.value)


def _only(found: Iterator[ast.Call | None]) -> ast.Call | None:
    """Return the only call, or None if there are several."""
    first, second = next(found, None), next(found, False)
    return first if second is False else None


def _plain_call(value: ast.expr | None) -> ast.Call | None:
    """Return the inner call: ``Net()`` for ``Net().cuda()``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in RETURN_SELF:
        value = value.func.value
    return value if isinstance(value, ast.Call) else None


def _part(tree: ast.Module, call: ast.Call, name: str) -> ast.Call | None:
    """Return the submodule of a module under a name."""
    kind = _last_name(call.func)
    if kind in ("Sequential", "ModuleList") and name.isdigit():
        return _item(call, int(name))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind]
    if _replaced(tree, name):
        return None
    return _only(_assigned(classes[0], f"self.{name}")) if len(classes) == 1 else None


def _replaced(tree: ast.Module, name: str) -> bool:
    """Return whether the program assigns to an attribute of that name on an object other than ``self``."""
    stored = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return any(node.attr == name and ast.unparse(node.value) != "self" for node in stored)


def _item(call: ast.Call, place: int) -> ast.Call | None:
    """Return an item of ``Sequential(a, b)``, or of ``ModuleList([a, b])``."""
    items: list[ast.expr] = list(call.args)
    if len(items) == 1 and isinstance(items[0], ast.List):
        items = items[0].elts
    elif len(items) == 1 and isinstance(items[0], ast.ListComp):
        return _plain_call(items[0].elt)
    plain = not any(isinstance(each, ast.Starred) for each in items[: place + 1])
    return _plain_call(items[place]) if plain and place < len(items) else None


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def with_argument(made: Made, position: int, keyword: str, value: int) -> str:
    """Return the text of a module's call with another number in it: ``nn.Linear(128, 10)``; empty if it has none
    there.
    """
    call = ast.parse(made.text, mode="eval").body
    assert isinstance(call, ast.Call)
    for each in call.keywords:
        if each.arg == keyword and isinstance(each.value, ast.Constant):
            each.value = ast.Constant(value)
            return ast.unparse(call)
    if position < len(call.args) and isinstance(call.args[position], ast.Constant):
        call.args[position] = ast.Constant(value)
        return ast.unparse(call)
    return ""


def let_take(module: str, made: Made | None, position: int, keyword: str, value: int, noun: str) -> str:
    """Return ``Make net.2 take 128 features: write nn.Linear(128, 10) instead of nn.Linear(64, 10) on line 3.``"""
    changed = with_argument(made, position, keyword, value) if made is not None else ""
    number = numbered(value, noun)
    if made is None:
        return f"Make {module} take {number}, or change its input."
    if not changed:
        return f"Make {module}, created on line {made.line} as {made.text}, take {number}, or change its input."
    return f"Make {module} take {number}: write {changed} instead of {made.text} on line {made.line}."
