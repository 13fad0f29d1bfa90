"""Inference tensors outside inference mode: written to in place, or saved for a backward pass."""

from __future__ import annotations

import re

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.inplace import written_to
from dispatchviz.explain.diagnosis.graph_errors.values import called, variable, views_back, with_line
from dispatchviz.explain.diagnosis.words import base_name, begun, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_lines, within
from dispatchviz.explain.trace_index.trace_index import index

WRITTEN = "Inplace update to inference tensor outside InferenceMode"
SAVED = "Inference tensors cannot be saved for backward"

COUNTED = raw(DispatchKey.ADInplaceOrView)
"""The key that tensors made in inference mode do not have."""


def written(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a write to an inference tensor outside inference mode."""
    found = written_to(failure)
    if found is None:
        return None
    trace, at = failure.trace, failure.raised
    views = views_back(trace, found.tensor)
    named = next((each for each in views if variable(trace, each, at)), views[-1])
    text = (
        f"{_inference(trace, named, at)}, and {on_line(trace, at)} writes to it in place outside of that mode, with "
        f"{base_name(found.call)}. An inference tensor has no version counter, so autograd could not see the change."
    )
    return _diagnosis(failure, Statement("inference tensor: written to", text), named)


def saved(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an inference tensor that a Node has to save."""
    trace, at, call = failure.trace, failure.raised, failure.call
    tensors = list(dict.fromkeys(_inference_arguments(failure)))
    if call is None or not tensors:
        return None
    text = (
        f"{_inference(trace, tensors[0], at)}. {base_name(call)} on {on_line(trace, at)} records a Node that has to "
        "save it for the backward pass, and an inference tensor has no version counter to save with it."
    )
    return _diagnosis(failure, Statement("inference tensor: saved", text), tensors[0])


def _inference_arguments(failure: Failure) -> list[int]:
    """Return the arguments with the key set of inference tensors, of the calls that raised, innermost call first."""
    calls = [event for event in failure.inside if isinstance(event, ev.Dispatched)]
    computed = [within(failure.trace, call.seq, ev.KeySetComputed) for call in calls]
    return [
        views_back(failure.trace, tensor)[-1]
        for each in computed
        if each is not None
        for _, tensor, keys in each.arguments
        if not keys & COUNTED and not _is_number(failure.trace, tensor)
    ]


def _is_number(trace: Trace, tensor: int) -> bool:
    made = index(trace).tensors.get(tensor)
    return made is not None and made.wrapped_number


def _inference(trace: Trace, tensor: int, at: int) -> str:
    """Return ``x (line 3) is an inference tensor: it was made inside torch.inference_mode()``"""
    return f"{begun(with_line(trace, tensor, at))} is an inference tensor: it was made inside torch.inference_mode()"


def _diagnosis(failure: Failure, cause: Statement, tensor: int) -> Diagnosis:
    trace, at = failure.trace, failure.raised
    name, made = called(trace, tensor, at), index(trace).tensors.get(tensor)
    line = on_line(trace, at, text=False)
    copy = f"{name} = {name}.clone()" if name.isidentifier() else "a clone() of it"
    fixes = (f"Use a normal tensor: {copy} before {line}.", f"Or use torch.no_grad() instead{_mode_on(trace)}.")
    steps = sorted({*(() if made is None else (made.seq,)), at})
    return Diagnosis("error", at, (cause,), failure.message, fixes, tuple(steps))


def _mode_on(trace: Trace) -> str:
    """Return `` of torch.inference_mode() on line 2``, if the program has it on one line only."""
    lines = enumerate(source_lines(trace, trace.header.program), 1)
    found = [number for number, text in lines if re.search(r"inference_mode\(", text)]
    where = f" on line {found[0]}" if len(found) == 1 else ""
    return f" of torch.inference_mode(){where}"


RULES = (
    (WRITTEN, written),
    (SAVED, saved),
)
