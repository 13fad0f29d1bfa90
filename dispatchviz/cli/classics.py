"""The ways of ``diff --classics``: one function of a script, plain and under a decorator.

``no_grad``, ``inference_mode`` and ``autocast`` could be switched on around a whole script, but ``vmap`` needs a
function with inputs to map over. As a decorator each of them is one line, which a reader can write into the script by
hand. So the script runs unchanged, and then again with that line above its function.
"""

from __future__ import annotations

import ast

from dispatchviz.foundation.errors import DispatchvizError

WAYS = (
    ("no_grad", "torch.no_grad()"),
    ("inference_mode", "torch.inference_mode()"),
    ("autocast", 'torch.autocast("{device}")'),
    ("vmap", "torch.vmap"),
)
"""The name and the decorator of each way."""


def chosen_function(script: str, text: str, name: str | None) -> str:
    """Return the function that gets the decorator: the one that is named, or the only one at the script's top level.

    Raise DispatchvizError if there is none, or several and no name.
    """
    names = list(_functions(text))
    if name is not None:
        if name not in names:
            raise DispatchvizError(f"{script} defines no function {name} at its top level{_defined(names)}")
        return name
    if len(names) != 1:
        which = "choose one with --function NAME" if names else "--classics needs one, to run it in four ways"
        many = f"the functions {', '.join(names)}" if names else "no function"
        raise DispatchvizError(f"{script} defines {many} at its top level: {which}")
    return names[0]


def _defined(names: list[str]) -> str:
    return f": it defines {', '.join(names)}" if names else ", nor any other"


def _functions(text: str) -> dict[str, int]:
    """Return the functions at the top level of a program, each with the line where it or its first decorator begins."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return {}  # running it reports the error
    found = (each for each in body if isinstance(each, ast.FunctionDef))
    return {each.name: min([each.lineno, *(mark.lineno for mark in each.decorator_list)]) for each in found}


def with_decorator(text: str, function: str, decorator: str) -> str:
    """Return a program with a decorator above a function. It replaces an empty line, so that lines keep their numbers,
    or is a new line if there is none.
    """
    lines, at = text.splitlines(keepends=True), _functions(text)[function] - 1
    begin = at - 1 if at and not lines[at - 1].strip() else at
    lines[begin:at] = [f"@{decorator}\n"]
    return "".join(lines)
