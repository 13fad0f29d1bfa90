"""Errors of a line that uses ``.grad`` as a tensor while it is None: ``w.grad.zero_()`` before any backward pass."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.arguments import diagnosed
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.subjects import Subject, statement, subject
from dispatchviz.explain.diagnosis.silent.calls import lines_with
from dispatchviz.explain.diagnosis.words import base_name, made_by, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.lookups import latest_first
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital

NONE = "'NoneType'"

MISSING = re.compile(r"'NoneType' object has no attribute '(\w+)'")

REMOVES = re.compile(r"\bzero_grad\(|\.grad\s*=\s*None\b|\bdel\b.*\.grad\b")
"""The pattern of a line that removes gradients."""


def missing_grad(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a line that needs a gradient and finds None, or None for another error."""
    used = [subject(failure, node.value) for node in _uses(failure)]
    if not used:
        return None
    found = next((each for each in used if _wrote(failure, each) is None), used[0])
    why, fix, unseen = _reason(failure, found)
    text = f"{found.text}.grad is None on {on_line(failure.trace, failure.raised)}. {why}"
    diagnosis = diagnosed(failure, Statement("gradient that is None", text), (*_guard(failure, found), fix))
    return diagnosis._replace(says="", unseen=unseen)


def _uses(failure: Failure) -> Iterator[ast.Attribute]:
    """Yield each ``w.grad`` of the statement that raised whose value the error may be about."""
    missing, tree = MISSING.search(failure.message), statement(failure)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Attribute):
            operands = [node.value] if missing is not None and node.attr == missing[1] else []
        elif missing is not None:
            operands = []
        elif isinstance(node, ast.BinOp):
            operands = [node.left, node.right]
        else:
            operands = [node.value] if isinstance(node, ast.Subscript | ast.AugAssign) else []
        yield from (each for each in operands if isinstance(each, ast.Attribute) and each.attr == "grad")


def _reason(failure: Failure, found: Subject) -> tuple[str, str, str]:
    """Return why ``.grad`` is None, a fix, and the facts that the recording did not see."""
    trace, name, here = failure.trace, found.text, on_line(failure.trace, failure.raised, text=False)
    last = next(latest_first(trace, failure.raised, ev.BackwardStarted), None)
    if last is None:
        why = f"No backward pass has run, and .grad is None until a backward pass writes a gradient to {name}."
        return why, f"Call backward() on a result of {name} before {here}.", ""
    if found.tensor is None:
        why = f"No backward pass wrote a gradient to {name}, or the program removed it."
        return (
            why,
            f"Call backward() on a result of {name} before {here}.",
            f"The recording does not show which tensor {name} is.",
        )
    if (wrote := _wrote(failure, found)) is not None:
        return *_removed(failure, name, wrote), ""
    if index(trace).history(found.tensor, failure.raised) is not None:
        return *_result(failure, name, found.tensor), ""
    where = on_line(trace, last.seq)
    if isinstance(last, ev.BackwardStarted) and not last.accumulate:
        why = f"torch.autograd.grad on {where} returns the gradients and writes none to .grad."
        return why, "Use the gradients that it returns, or call backward() instead.", ""
    why = (
        f"{capital(where)} ran a backward pass, but no pass wrote a gradient to {name}: it is not a leaf of the graph."
    )
    return why, f"Let {name} require grad, and compute the loss of {on_line(trace, last.seq, text=False)} from it.", ""


def _removed(failure: Failure, name: str, wrote: int) -> tuple[str, str]:
    trace, here = failure.trace, on_line(failure.trace, failure.raised, text=False)
    removed = [step for step in lines_with(trace, REMOVES.search) if wrote < step < failure.raised]
    if not removed:
        return f"The program removed the gradient that {on_line(trace, wrote)} wrote.", f"Keep it until {here}."
    why = f"{capital(on_line(trace, removed[-1]))} removed the gradient that {on_line(trace, wrote)} wrote."
    return why, f"Move {on_line(trace, removed[-1], text=False)} after {here}."


def _result(failure: Failure, name: str, tensor: int) -> tuple[str, str]:
    """Return the reason and a fix for a tensor that is not a leaf."""
    trace, call = failure.trace, made_by(failure.trace, tensor)
    line = source_line(trace, call.seq) if call is not None else None
    if call is None or line is None:
        return f"{name} is not a leaf, and backward() keeps .grad only for leaves.", f"Call {name}.retain_grad()."
    made = f"the result of {base_name(call)} on {on_line(trace, call.seq)}"
    why = f"{name} is not a leaf: it is {made}. backward() keeps .grad only for leaves."
    if re.match(rf"{re.escape(name)} = .*\b{re.escape(name)}\b", source_text(trace, line)):
        where = on_line(trace, call.seq, text=False)
        return why, f"Change the leaf in place on {where}, in torch.no_grad(), so that {name} remains a leaf."
    return why, f"Call {name}.retain_grad() before the backward pass."


def _guard(failure: Failure, found: Subject) -> tuple[str, ...]:
    """Return the fix for a line that resets a gradient."""
    missing = MISSING.search(failure.message)
    reset = f"{found.text}.grad.zero_()"
    if missing is None or missing[1] != "zero_":
        return ()
    return (f"Reset the gradient only if there is one: if {found.text}.grad is not None: {reset}.",)


def _wrote(failure: Failure, found: Subject) -> int | None:
    """Return the last step before the error that wrote to ``.grad`` of a tensor, or None if none did."""
    if found.tensor is None:
        return None
    steps = index(failure.trace).steps_about(found.tensor, ev.GradientAccumulated)
    return next((step for step in reversed(steps) if step < failure.raised), None)


RULES = ((NONE, missing_grad),)
