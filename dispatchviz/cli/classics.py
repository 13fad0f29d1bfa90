"""The ways of ``diff --classics``: one function of a script, plain and under a decorator.

``no_grad``, ``inference_mode`` and ``autocast`` could be switched on around a whole script, but ``vmap`` needs a
function with inputs to map over. As decorators all of them are one line, which a reader can write into the script by
hand; so the script runs as it is, and then again with that line above its function.
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
"""Name and decorator of each."""


def chosen_function(script: str, text: str, name: str | None) -> str:
    """The function of a script that runs otherwise: the one that is named, or the only one at its top level.

    DispatchvizError if there is none, or no telling which.
    """
    names = list(_functions(text))
    if name is not None:
        if name not in names:
            raise DispatchvizError(f"{script} defines no function {name} at its top level{_there(names)}")
        return name
    if len(names) != 1:
        which = "say which with --function NAME" if names else "--classics needs one, to run it in four ways"
        many = f"the functions {', '.join(names)}" if names else "no function"
        raise DispatchvizError(f"{script} defines {many} at its top level: {which}")
    return names[0]


def _there(names: list[str]) -> str:
    return f", it defines {', '.join(names)}" if names else ", and no other"


def _functions(text: str) -> dict[str, int]:
    """The functions at the top level of a program, and the line at which each begins, decorators included."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return {}  # running it says what is wrong with it
    found = (each for each in body if isinstance(each, ast.FunctionDef))
    return {each.name: min([each.lineno, *(mark.lineno for mark in each.decorator_list)]) for each in found}


def with_decorator(text: str, function: str, decorator: str) -> str:
    """A program with a decorator above a function: in place of an empty line, so that lines keep their numbers, or as
    one line more."""
    lines, at = text.splitlines(keepends=True), _functions(text)[function] - 1
    begin = at - 1 if at and not lines[at - 1].strip() else at
    lines[begin:at] = [f"@{decorator}\n"]
    return "".join(lines)
