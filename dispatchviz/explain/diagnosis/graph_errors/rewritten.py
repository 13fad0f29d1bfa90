"""The rewriting of a line with an in-place write to one that computes a new tensor: ``y = y + 1`` for ``y += 1``."""

from __future__ import annotations

import ast


def out_of_place(line: str, variable: str) -> str:
    """Return ``y = y + 1`` for ``y += 1``, ``y = y.mul(2)`` for ``y.mul_(2)``; empty unless the line writes to a
    variable.
    """
    statement = _parsed(line)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name | ast.Attribute):
        written, new = ast.unparse(statement.target), _without_augmenting(statement)
    elif isinstance(statement, ast.Expr | ast.Assign) and isinstance(statement.value, ast.Call):
        written, new = _without_underscore(statement.value) or _without_inplace(statement.value)
    else:
        return ""
    if not new or written.rpartition(".")[2] != variable.rpartition(".")[2]:
        return ""
    targets = [ast.unparse(each) for each in statement.targets] if isinstance(statement, ast.Assign) else [written]
    return " = ".join((*targets, new))


def _parsed(line: str) -> ast.stmt | None:
    """Return the only statement of a line."""
    try:
        body = ast.parse(line).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 else None


def without_out(line: str) -> str:
    """Return ``r = torch.add(a, b)`` for ``torch.add(a, b, out=r)``; empty for other lines."""
    statement = _parsed(line)
    call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    out = (
        next((each.value for each in call.keywords if each.arg == "out"), None) if isinstance(call, ast.Call) else None
    )
    if not isinstance(call, ast.Call) or not isinstance(out, ast.Name):
        return ""
    kept = [each for each in call.keywords if each.arg != "out"]
    return f"{out.id} = {ast.unparse(ast.Call(call.func, call.args, kept))}"


def _without_augmenting(statement: ast.AugAssign) -> str:
    left = ast.parse(ast.unparse(statement.target), mode="eval").body
    return ast.unparse(ast.BinOp(left, statement.op, statement.value))


def _without_underscore(call: ast.Call) -> tuple[str, str] | None:
    """Return the written variable and the call without underscore, for a method of a variable: ``y.mul_(2)``."""
    method = call.func
    if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name | ast.Attribute):
        return None
    owner, name = ast.unparse(method.value), method.attr
    if not name.endswith("_") or name.endswith("__") or name in WITHOUT_COPY:
        return None
    arguments = ", ".join(ast.unparse(each) for each in (*call.args, *call.keywords))
    return owner, f"{owner}.{name.removesuffix('_')}({arguments})"


def _without_inplace(call: ast.Call) -> tuple[str, str]:
    """Return the same for a function with a flag: ``F.relu(y, inplace=True)``."""
    kept = [each for each in call.keywords if each.arg != "inplace"]
    if len(kept) == len(call.keywords) or not call.args:
        return "", ""
    return ast.unparse(call.args[0]), ast.unparse(ast.Call(call.func, call.args, kept))


WITHOUT_COPY = frozenset({"zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "set_", "resize_", "detach_"})
"""Methods that ignore the values that they overwrite, or that have no out-of-place variant."""
