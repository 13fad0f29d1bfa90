"""Sentences of forward mode: levels, formulas, tangents."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.event_groups import TangentEvent
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.foundation.english import counted


def why(trace: Trace, event: TangentEvent) -> Statement:
    """Why forward mode does this."""
    match event:
        case ev.DualLevelEntered():
            text = (
                f"Dual level {event.level} is open: a tensor may have a tangent from here on, and autograd's kernels "
                "compute the tangents of their results from those of their arguments."
            )
            return Statement("dual level opened", text)
        case ev.DualLevelLeft():
            return Statement("dual level closed", f"Dual level {event.level} is closed: {_gone(event.tangents)}.")
        case ev.ForwardFormulaEntered():
            return _formula(trace, event)
        case ev.TangentSet():
            return _set(trace, event)
        case _:
            assert_never(event)


def _gone(tangents: int) -> str:
    if not tangents:
        return "no tensor has a tangent of that level any more"
    return f"{counted(tangents, 'tangent')} {'is' if tangents == 1 else 'are'} removed, and the tensors stay"


def _formula(trace: Trace, event: ev.ForwardFormulaEntered) -> Statement:
    call = around(trace, event.seq, ev.Dispatched)
    who = f"An argument of {call.operator if call else 'the operator'} has a tangent, so its result gets one"
    letters = "X_t is the tangent of argument X, X_p its primal."
    match event.how:
        case "Function":
            text = "An argument of a Function has a tangent: its jvp computes the tangents of its outputs."
            return Statement("jvp of a Function", text)
        case "auto_linear":
            what = "The operator is linear: the tangent is the operator applied to the tangents."
            text = f"{who}: {event.formula}. {what}"
            return Statement("linear forward formula", text)
        case "auto_element_wise":
            text = (
                f"{who}: {event.formula}. It is element-wise: this is its backward formula, with the tangent in place "
                f"of grad. {letters}"
            )
            return Statement("element-wise forward formula", text)
        case _:
            return Statement("forward formula", f"{who}: {event.formula}. {letters}")


def _set(trace: Trace, event: ev.TangentSet) -> Statement:
    tensor, tangent = (tensor_name(trace, t, event.seq) for t in (event.tensor, event.tangent))
    match event.how:
        case "taken as it is":
            text = f"{tensor} gets the tangent {tangent} itself: it has the same layout in memory as {tensor}."
            return Statement("tangent taken", text)
        case "written in place":
            text = f"{tensor} was written to in place, and so was its tangent {tangent}: it stays the same tensor."
            return Statement("tangent written in place", text)
        case "copied, to be laid out as the tensor":
            text = (
                f"The tangent must have the same layout in memory as {tensor}, so that views of both correspond: "
                f"{tangent} is a copy with that layout."
            )
            return Statement("tangent copied", text)
        case "copied into a view of the base's tangent":
            text = (
                f"{tensor} is a view that was written to, and its base had no tangent: the base gets one that is zero "
                f"elsewhere, and {tangent}, the same view of that, is the tangent of {tensor}."
            )
            return Statement("tangent of the base made", text)
        case _:
            text = (
                f"{tensor} is a view and its base has a tangent: the same view of that, {tangent}, is the tangent of "
                f"{tensor}; it is made now, when it is first read."
            )
            return Statement("tangent of a view made", text)
