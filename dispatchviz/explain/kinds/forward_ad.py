"""Forward mode: levels, formulas, tangents."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import WIDTH, Kind, Rule, unseen
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.foundation.english import counted, shortened


def _dual_level_left_label(trace: Trace, event: ev.DualLevelLeft) -> str:
    return f"dual level {event.level} closed, {counted(event.tangents, 'tangent')} removed"


def _tangent_label(trace: Trace, event: ev.TangentSet) -> str:
    name, tangent = tensor_name(trace, event.tensor, event.seq), tensor_name(trace, event.tangent, event.seq)
    return f"tangent of {name} = {tangent} ({event.how})"


_FORWARD_AD = "forward mode is not watched; its calls are seen"


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


def _why_dual_level_entered(trace: Trace, event: ev.DualLevelEntered) -> Statement:
    text = (
        f"Dual level {event.level} is open: a tensor may have a tangent from here on, and autograd's kernels "
        "compute the tangents of their results from those of their arguments."
    )
    return Statement("dual level opened", text)


def _why_dual_level_left(trace: Trace, event: ev.DualLevelLeft) -> Statement:
    return Statement("dual level closed", f"Dual level {event.level} is closed: {_gone(event.tangents)}.")


_LEVEL_RULE = Rule(
    "Tangents belong to a level: leaving it removes them. One level may be open, for all threads.",
    "ForwardADLevel",
    "torch/csrc/autograd/forward_grad.cpp",
)

FORWARD_AD_KINDS = (
    Kind(
        ev.DualLevelEntered,
        group="forward",
        label=lambda trace, event: f"dual level {event.level} opened",
        why=_why_dual_level_entered,
        rule=_LEVEL_RULE,
        known=unseen(_FORWARD_AD),
        panes=("source", "calls"),
        reason_in_log="always",
    )
    | Kind(
        ev.DualLevelLeft,
        group="forward",
        label=_dual_level_left_label,
        why=_why_dual_level_left,
        rule=_LEVEL_RULE,
        known=unseen(_FORWARD_AD),
        panes=("source", "calls"),
        reason_in_log="always",
    )
    | Kind(
        ev.ForwardFormulaEntered,
        group="forward",
        label=lambda trace, event: shortened(f"tangent = {event.formula}", WIDTH),
        why=_formula,
        rule=Rule(
            "If an argument has a tangent, the kernel evaluates the operator's forward formula after the call.",
            "emit_fw_derivatives",
            "tools/autograd/gen_variable_type.py",
        ),
        known=unseen(_FORWARD_AD),
        panes=("source", "calls"),
        reason_in_log="always",
    )
    | Kind(
        ev.TangentSet,
        group="forward",
        label=_tangent_label,
        why=_set,
        rule=Rule(
            "A tensor and its tangent have the same layout; a view's tangent is that view of its base's tangent.",
            "AutogradMeta::set_fw_grad",
            "torch/csrc/autograd/autograd_meta.cpp",
        ),
        known=unseen(_FORWARD_AD),
        panes=("source", "calls"),
        reason_in_log="always",
    )
)
