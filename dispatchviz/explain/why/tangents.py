"""Sentences of forward mode: levels, formulas, tangents."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.english import counted
from dispatchviz.explain.groups import TangentEvent
from dispatchviz.explain.names import tensor_name
from dispatchviz.explain.surroundings import around


def why(trace: Trace, event: TangentEvent) -> str:
    """Why forward mode does this."""
    match event:
        case ev.DualLevelEntered():
            return (
                f"Dual level {event.level} is open: a tensor may have a tangent from here on, and autograd's kernels "
                "compute the tangents of their results from those of their arguments."
            )
        case ev.DualLevelLeft():
            return f"Dual level {event.level} is closed: {_gone(event.tangents)}."
        case ev.ForwardFormulaEntered():
            return _formula(trace, event)
        case ev.TangentSet():
            return _HOW.get(event.how, "{tensor} has the tangent {tangent} now.").format(
                tensor=tensor_name(trace, event.tensor, event.seq), tangent=tensor_name(trace, event.tangent, event.seq)
            )
        case _:
            assert_never(event)


def _gone(tangents: int) -> str:
    if not tangents:
        return "no tensor has a tangent any more that would go with it"
    return f"{counted(tangents, 'tangent')} {'goes' if tangents == 1 else 'go'} with it, and the tensors stay"


def _formula(trace: Trace, event: ev.ForwardFormulaEntered) -> str:
    call = around(trace, event.seq, ev.Dispatched)
    operator = call.operator if call else "the operator"
    meaning = _KINDS.get(event.how, _LETTERS)
    return f"An argument of {operator} has a tangent, so its result gets one: {event.formula}. {meaning}"


_LETTERS = "X_t is the tangent of argument X, X_p the argument without it."
_KINDS = {
    "Function": "It is a Function: its jvp says what the tangents of its outputs are.",
    "auto_linear": "The operator is linear: the tangent is the operator itself, on the tangents.",
    "auto_element_wise": f"It works element by element: its backward formula, with the tangent for grad. {_LETTERS}",
}
"""What the formula is; any other is spelled out in derivatives.yaml."""

_HOW = {
    "taken as it is": "{tensor} gets the tangent {tangent}, as it is: it is laid out in memory as {tensor} is.",
    "written in place": "{tensor} was written to in place, and so was its tangent {tangent}: it stays the same tensor.",
    "copied, to be laid out as the tensor": (
        "The tangent must be laid out in memory as {tensor} is, so that views of both go together: {tangent} is a copy "
        "that is."
    ),
    "copied into a view of the base's tangent": (
        "{tensor} is a view that was written to, and its base had no tangent: the base gets one that is zero "
        "elsewhere, and {tangent}, the same view of that, is the tangent of {tensor}."
    ),
    "a view of its base's": (
        "{tensor} is a view and its base has a tangent: the same view of that, {tangent}, is the tangent of {tensor}, "
        "made now that somebody asks."
    ),
}
