"""Custom Functions that cannot run: nothing to save, no ``backward``, called as an object."""

from __future__ import annotations

import ast
import re

from dispatchviz.explain.diagnosis.arguments import told
from dispatchviz.explain.diagnosis.call_errors.functions import last_line, last_node, method_of, told_at
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.words import article, on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.trace_index import index

SAVED = re.compile(r"can only save variables, but argument (\d+) is of type (\w+)")


def saved(failure: Failure) -> Diagnosis | None:
    """``save_for_backward`` of something that is no tensor."""
    said, ran = SAVED.search(failure.message), last_line(failure, "forward")
    if said is None or ran is None:
        return None
    call = _call(failure, "save_for_backward", ran.owner)
    at = int(said[1])
    name = ast.unparse(call.args[at]) if call is not None and at < len(call.args) else f"argument {at}"
    line = f" on line {call.lineno}" if call is not None else ""
    what = f"{name}, {article(said[2])} {said[2]},"
    text = f"{ran.owner}.forward passes {what} to ctx.save_for_backward{line}, which takes only tensors."
    attribute = name if name.isidentifier() else "value"
    fix = f"Keep {name} as an attribute of ctx: ctx.{attribute} = {name if name.isidentifier() else '...'}."
    return told_at(failure, Statement("Function: save_for_backward", text), ran, fix)


def _call(failure: Failure, name: str, owner: str) -> ast.Call | None:
    forward = method_of(failure.trace, owner, "forward")
    for node in ast.walk(forward) if forward is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            return node
    return None


def no_backward(failure: Failure) -> Diagnosis | None:
    """A Function that has no ``backward``."""
    node = last_node(failure)
    made = index(failure.trace).nodes.get(node) if node is not None else None
    ran = last_line(failure, "forward")
    if made is None or ran is None or made.name != f"{ran.owner}Backward":
        return None
    text = (
        f"The backward pass of {on_line(failure.trace, failure.raised)} reached {made.name}, the Node of {ran.owner}, "
        f"but {ran.owner} defines no backward."
    )
    fix = (
        f"Define a static method backward(ctx, grad) in {ran.owner}: it returns one gradient for each input of forward."
    )
    return told(failure, Statement("Function: no backward", text), (fix,))


def legacy(failure: Failure) -> Diagnosis:
    """A Function that is made and called as an object."""
    where = on_line(failure.trace, failure.raised)
    text = f"{where} makes an object of a Function and calls it, but a Function is never an object."
    fix = "Call apply of the class: F.apply(x) instead of F()(x)."
    return told(failure, Statement("Function: called as an object", sentence(text)), (fix,))


RULES = (
    ("save_for_backward can only save variables", saved),
    ("You must implement either the backward or vjp method", no_backward),
    ("Legacy autograd function with non-static forward method", legacy),
)
