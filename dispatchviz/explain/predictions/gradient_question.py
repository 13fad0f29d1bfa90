"""The question how a leaf's ``.grad`` gets the gradient that has arrived."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.predictions.prediction import Kind, Prediction, prediction
from dispatchviz.explain.trace_index.display_names import attribute, tensor_name

FIRST = ("stolen", "copied")
"""The ways to set ``.grad`` if there is none; the other ways add to it."""


def how_accumulated(trace: Trace, event: ev.GradientAccumulated) -> Prediction | None:
    """The question before an AccumulateGrad writes ``.grad``."""
    leaf = tensor_name(trace, event.tensor, event.seq)
    grad, said = attribute(leaf, "grad"), why_here(trace, event.seq)
    texts = {
        "stolen": f"stolen: {grad} shares its memory, without a copy",
        "copied": f"copied: {grad} gets memory of its own",
        "added in place": f"added in place to the existing {grad}",
        "added out of place": f"added to the old {grad}, into a new tensor",
    }
    not_at_all = f"not at all: {grad} stays as it is"
    runs = f"AccumulateGrad runs and writes {grad}. Only grad() would return the gradient instead. {said}"
    return prediction(
        Kind.GRADIENT,
        f"The gradient t{event.gradient} has arrived at AccumulateGrad ({leaf}). How does {grad} get it?",
        [*((text, _reason(leaf, how, event, said)) for how, text in texts.items()), (not_at_all, runs)],
        texts[event.how],
        event.seq,
        (event.how, event.why),
    )


def _reason(leaf: str, how: str, event: ev.GradientAccumulated, why: str) -> str:
    if how == event.how:
        return why
    if (how in FIRST) == (event.how in FIRST):
        return why
    there = "A .grad exists already." if how in FIRST else "There is no .grad yet to add it to."
    return f"{there} {why}"
