"""The expressions of answers: which parts of Python they may use, and one clear error for each other part.

An expression reads values and changes none. A name is a variable of the program, and the name of a call is a function
of ``CALLS`` or of ``trace_words.py``. So a variable ``count`` and the function ``count`` do not collide.
"""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from dispatchviz.foundation.errors import DispatchvizError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CALLS = _words(
    "abs all any bool enumerate float hasattr int isinstance len list max min range reversed round set sorted str sum "
    "tuple type zip"
)
"""The functions of Python that an expression may call."""

METHODS = (
    _words(
        "tolist item size dim numel nelement stride is_contiguous data_ptr storage_offset element_size untyped_storage "
        "nbytes equal allclose is_floating_point is_complex is_inference sum mean abs max min all any"
    )
    | _words(
        "name parameters named_parameters children named_children modules named_modules buffers named_buffers "
        "state_dict is_grad_enabled is_inference_mode_enabled is_autocast_enabled is_tensor"
    )
    | _words("keys values items get index count startswith endswith lower upper strip split splitlines join")
)
"""The methods that an expression may call: of tensors; of Nodes, modules and torch; of Python's values. None of them
changes its object.
"""

_ALLOWED = (
    *(ast.Expression, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Compare, ast.cmpop),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.IfExp, ast.Constant, ast.Name, ast.Load),
    *(ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Call, ast.keyword),
    *(ast.GeneratorExp, ast.ListComp, ast.comprehension, ast.Store),
)

_PLAIN = {
    ast.NamedExpr: "an assignment",
    ast.Lambda: "a lambda",
    ast.Await: "await",
    ast.JoinedStr: "an f-string",
    ast.Pow: "a power",
    ast.MatMult: "a matrix product",
    ast.Dict: "a dict",
    ast.Starred: "a starred value",
}

_OURS = "function "
"""Begins the names of our functions. No variable of the program has a name with a space."""


class ExpressionError(DispatchvizError):
    """An expression that cannot be evaluated."""

    def __init__(self, text: str, why: str = "") -> None:
        """``why`` is the reason without the expression, which a learner must not see."""
        super().__init__(text)
        self.why = why or text


class Expression:
    """An expression that was checked."""

    def __init__(self, text: str, functions: Mapping[str, Any]) -> None:
        """``functions`` has the functions over the trace. Raise ExpressionError for a part that is not allowed."""
        self.text = text
        known = sorted((*CALLS, *functions))
        tree = _parsed(text)
        self.variables = tuple(_variables(tree))
        """The names that it reads and that are no functions: variables of the program, or ``empty``."""
        for node in ast.walk(tree):
            _check(node, text, known)
        self._code = _compiled(tree)
        self._functions = {f"{_OURS}{name}": getattr(builtins, name) for name in CALLS}
        self._functions |= {f"{_OURS}{name}": function for name, function in functions.items()}

    def value(self, variables: Mapping[str, Any], known: Mapping[str, Any], where: str) -> Any:
        """Return the value. ``known`` has names that a variable of the program may replace.

        Raise ExpressionError, with the variables at that place, if there is none.
        """
        space = {**known, **variables, **self._functions, "__builtins__": {}}
        try:
            return eval(self._code, space)
        except NameError as error:
            why = _unknown(error.name or "", variables)
        except DispatchvizError as error:
            why = str(error)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        raise ExpressionError(f"{self.text!r} has no value {where}: {why}", why)


def _variables(tree: ast.Expression) -> Iterator[str]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called]
    own = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    yield from dict.fromkeys(name.id for name in names if name.id not in own)


def _parsed(text: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"{text!r} is not an expression of Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text[:40]!r}... is not an expression of Python") from None


def _check(node: ast.AST, text: str, known: list[str]) -> None:
    if not isinstance(node, _ALLOWED):
        what = _PLAIN.get(type(node), f"{type(node).__name__}")
        raise ExpressionError(f"{text!r} has {what}; an answer compares values of the program and the trace")
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name.startswith("__") and name != "__name__":
            raise ExpressionError(
                f"{text!r} has the name {name}; an answer has no names that begin with two underscores"
            )
    if isinstance(node, ast.Call):
        _check_call(node.func, text, known)


def _check_call(function: ast.expr, text: str, known: list[str]) -> None:
    if isinstance(function, ast.Name) and function.id in known:
        return
    if isinstance(function, ast.Attribute) and function.attr in METHODS:
        return
    called = ast.unparse(function)
    name = function.attr if isinstance(function, ast.Attribute) else called
    near = difflib.get_close_matches(name, METHODS if isinstance(function, ast.Attribute) else known, 3)
    meant = f"did you mean {' or '.join(near)}?" if near else f"it can call {', '.join(known)}, and {SOME_METHODS}"
    raise ExpressionError(f"{text!r} calls {called}, which an answer cannot call; {meant}")


SOME_METHODS = "methods that only read, such as tolist(), size() and data_ptr()"


class _Renamed(ast.NodeTransformer):
    """The transformer that gives called functions the names that only ours have."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name):
            node.func.id = f"{_OURS}{node.func.id}"
        self.generic_visit(node)
        return node


def _compiled(tree: ast.Expression) -> CodeType:
    return compile(_Renamed().visit(tree), "<answer>", "eval")


def _unknown(name: str, variables: Mapping[str, Any]) -> str:
    there = [each for each in variables if not each.startswith("_")]
    near = difflib.get_close_matches(name, there, 3)
    meant = f"did you mean {' or '.join(near)}?" if near else f"the variables are {', '.join(there) or 'none'}"
    return f"there is no variable {name}; {meant}"
