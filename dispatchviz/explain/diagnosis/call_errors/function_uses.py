"""Custom Functions that cannot run: a value that cannot be saved, no ``backward``, a call of an object."""

from __future__ import annotations

import ast
import re

from dispatchviz.explain.diagnosis.arguments import diagnosed
from dispatchviz.explain.diagnosis.call_errors.functions import diagnosed_at, last_line, last_node, method_of
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import calls_on_line
from dispatchviz.explain.diagnosis.modules import program_nodes
from dispatchviz.explain.diagnosis.words import article, on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.trace_index import index

SAVED = re.compile(r"can only save variables, but argument (\d+) is of type (\w+)")


def saved(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``save_for_backward`` with a value that is not a tensor."""
    match, ran = SAVED.search(failure.message), last_line(failure, "forward")
    if match is None or ran is None:
        return None
    call = _call(failure, "save_for_backward", ran.owner)
    at = int(match[1])
    name = ast.unparse(call.args[at]) if call is not None and at < len(call.args) else f"argument {at}"
    line = f" on line {call.lineno}" if call is not None else ""
    what = f"{name}, {article(match[2])} {match[2]},"
    text = f"{ran.owner}.forward passes {what} to ctx.save_for_backward{line}, which takes only tensors."
    kept = f": ctx.{name} = {name}." if name.isidentifier() else f", such as ctx.value = {name}."
    fix = f"Keep {name} as an attribute of ctx{kept}"
    return diagnosed_at(failure, Statement("Function: save_for_backward", text), ran, fix)


def _call(failure: Failure, name: str, owner: str) -> ast.Call | None:
    forward = method_of(failure.trace, owner, "forward")
    for node in ast.walk(forward) if forward is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            return node
    return None


def no_backward(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a Function without ``backward``."""
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
    return diagnosed(failure, Statement("Function: no backward", text), (fix,))


def legacy(failure: Failure) -> Diagnosis:
    """Return the diagnosis of a Function that is instantiated and called as an object."""
    owner, where = _called_class(failure), on_line(failure.trace, failure.raised)
    text = (
        f"{where} calls an object of {owner or 'a Function'}. A Function is not instantiated: its class has the "
        "method apply."
    )
    fix = f"Call apply of the class: {owner or 'F'}.apply(x) instead of {owner or 'F'}()(x)."
    return diagnosed(failure, Statement("Function: called as an object", sentence(text)), (fix,))


def _called_class(failure: Failure) -> str:
    """Return the class of the object that a line calls: ``Clip`` for ``Clip()(x)``, or the program's only Function."""
    objects = [call.func.func for call in calls_on_line(failure) if isinstance(call.func, ast.Call)]
    made = [each.id for each in objects if isinstance(each, ast.Name)]
    classes = [node for node in program_nodes(failure.trace) if isinstance(node, ast.ClassDef)]
    own = [each.name for each in classes if any(ast.unparse(base).endswith("Function") for base in each.bases)]
    return made[0] if made else own[0] if len(own) == 1 else ""


RULES = (
    ("save_for_backward can only save variables", saved),
    ("You must implement either the backward or vjp method", no_backward),
    ("Legacy autograd function with non-static forward method", legacy),
)
