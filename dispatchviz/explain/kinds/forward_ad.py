"""Forward mode: levels, formulas, tangents."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import WIDTH, Kind, Rule, unseen
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.foundation.english import capital, counted, shortened


def _dual_level_left_label(trace: Trace, event: ev.DualLevelLeft) -> str:
    return f"dual level {event.level} closed, {counted(event.tangents, 'tangent')} removed"


def _tangent_label(trace: Trace, event: ev.TangentSet) -> str:
    name, tangent = tensor_name(trace, event.tensor, event.seq), tensor_name(trace, event.tangent, event.seq)
    return f"tangent of {name} = {tangent} ({event.how})"


_FORWARD_AD = "the recorder does not watch forward mode, only its calls"


def _gone(tangents: int) -> str:
    if not tangents:
        return "No tensor has a tangent of that level any more"
    return f"{capital(counted(tangents, 'tangent'))} {'is' if tangents == 1 else 'are'} removed. The tensors stay"


def _formula(trace: Trace, event: ev.ForwardFormulaEntered) -> Statement:
    call = around(trace, event.seq, ev.Dispatched)
    who = f"An argument of {call.operator if call else 'the operator'} has a tangent, so the result gets one"
    letters = "X_t is the tangent of the argument X, and X_p is its primal."
    match event.how:
        case "Function":
            text = (
                "An argument of the Function has a tangent, so the Function's jvp computes the tangents of its outputs."
            )
            return Statement("jvp of a Function", text)
        case "auto_linear":
            what = "The operator is linear, so the tangent is the operator applied to the tangents."
            text = f"{who}: {event.formula}. {what}"
            return Statement("linear forward formula", text)
        case "auto_element_wise":
            text = (
                f"{who}: {event.formula}. The operator is element-wise, so this is its backward formula with the "
                f"tangent in place of grad. {letters}"
            )
            return Statement("element-wise forward formula", text)
        case _:
            return Statement("forward formula", f"{who}: {event.formula}. {letters}")


def _set(trace: Trace, event: ev.TangentSet) -> Statement:
    tensor, tangent = (tensor_name(trace, t, event.seq) for t in (event.tensor, event.tangent))
    match event.how:
        case "stored without a copy":
            text = f"{tensor} takes {tangent} itself as its tangent, because it has the same memory layout."
            return Statement("tangent taken", text)
        case "written in place":
            text = f"{tensor} was written to in place, and so was its tangent {tangent}, which stays the same tensor."
            return Statement("tangent written in place", text)
        case "copied into the tensor's layout":
            text = (
                f"The tangent is copied, because its memory layout differs from that of {tensor}: {tangent} is a copy "
                f"with the layout of {tensor}."
            )
            return Statement("tangent copied", text)
        case "copied into a view of the base's tangent":
            text = (
                f"{tensor} is a view that was written to, and its base had no tangent. The base gets a tangent that is "
                f"zero elsewhere. The tangent of {tensor}, {tangent}, is the same view of it."
            )
            return Statement("tangent of the base made", text)
        case _:
            text = (
                f"{tensor} is a view, and its base has a tangent. The tangent of {tensor}, {tangent}, is the same view "
                "of it. It is created now, when it is first read."
            )
            return Statement("tangent of a view made", text)


def _why_dual_level_entered(trace: Trace, event: ev.DualLevelEntered) -> Statement:
    text = (
        f"Dual level {event.level} is open. Tensors may now have tangents, and the autograd kernels compute the "
        "tangents of results from the tangents of arguments."
    )
    return Statement("dual level opened", text)


def _why_dual_level_left(trace: Trace, event: ev.DualLevelLeft) -> Statement:
    return Statement("dual level closed", f"Dual level {event.level} is closed. {_gone(event.tangents)}.")


_LEVEL_RULE = Rule(
    "Tangents belong to a level, and leaving the level removes them. Only one level can be open, for all threads "
    "together.",
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
            "A tensor and its tangent have the same memory layout, so that views of both correspond. The tangent of a "
            "view is the same view of its base's tangent.",
            "AutogradMeta::set_fw_grad",
            "torch/csrc/autograd/autograd_meta.cpp",
        ),
        known=unseen(_FORWARD_AD),
        panes=("source", "calls"),
        reason_in_log="always",
    )
)
