"""A line that writes in place, rewritten so that it computes a new tensor: ``y = y + 1`` for ``y += 1``."""

from __future__ import annotations

import ast


def out_of_place(line: str) -> str:
    """``y = y + 1`` for ``y += 1``, ``y = y.mul(2)`` for ``y.mul_(2)``; empty if the line does neither."""
    try:
        body = ast.parse(line).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    statement = body[0] if len(body) == 1 else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name | ast.Attribute):
        return _without_augmenting(statement)
    call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if not isinstance(call, ast.Call):
        return ""
    return _without_underscore(call) or _without_inplace(call)


def without_out(line: str) -> str:
    """``r = torch.add(a, b)`` for ``torch.add(a, b, out=r)``; empty if the line is no such call."""
    try:
        body = ast.parse(line).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr | ast.Assign) else None
    out = (
        next((each.value for each in call.keywords if each.arg == "out"), None) if isinstance(call, ast.Call) else None
    )
    if not isinstance(call, ast.Call) or not isinstance(out, ast.Name):
        return ""
    kept = [each for each in call.keywords if each.arg != "out"]
    return f"{out.id} = {ast.unparse(ast.Call(call.func, call.args, kept))}"


def _without_augmenting(statement: ast.AugAssign) -> str:
    target = ast.unparse(statement.target)
    left = ast.parse(target, mode="eval").body
    return f"{target} = {ast.unparse(ast.BinOp(left, statement.op, statement.value))}"


def _without_underscore(call: ast.Call) -> str:
    """Of a method of a variable: ``y.mul_(2)``; what ``zero_`` and ``fill_`` compute has no such form."""
    method = call.func
    if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name | ast.Attribute):
        return ""
    owner, name = ast.unparse(method.value), method.attr
    if not name.endswith("_") or name.endswith("__") or name in WITHOUT_COPY:
        return ""
    arguments = ", ".join(ast.unparse(each) for each in (*call.args, *call.keywords))
    return f"{owner} = {owner}.{name.removesuffix('_')}({arguments})"


def _without_inplace(call: ast.Call) -> str:
    """Of a function with a flag: ``F.relu(y, inplace=True)``."""
    kept = [each for each in call.keywords if each.arg != "inplace"]
    if len(kept) == len(call.keywords) or not call.args:
        return ""
    new = ast.Call(call.func, call.args, kept)
    return f"{ast.unparse(call.args[0])} = {ast.unparse(new)}"


WITHOUT_COPY = frozenset({"zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "set_", "resize_", "detach_"})
"""Methods that ignore the values that they overwrite, or that have no other form."""
