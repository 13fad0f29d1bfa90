"""The functions of PyTorch that the program calls."""

from __future__ import annotations

import re

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.kinds.kind import WIDTH, Kind, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import (
    binding_file,
)
from dispatchviz.explain.sentences.sentence_claims import BindingOf
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import with_names
from dispatchviz.foundation.english import listed, ordinal, shortened

TENSOR = re.compile(r"t\d{1,18}")
"""The form of an argument that is a tensor."""


def _why_binding(trace: Trace, event: ev.BindingEntered) -> Statements:
    """The sentences on how Python calls an operator."""
    operator = _operator(trace, event)
    first = f"Python calls {call_text(trace, event)}, which enters PyTorch as {event.pytorch_function}."
    claims = (BindingOf(event.function, event.pytorch_function),)
    if not event.signature:
        leads = f" It leads to the operator {operator}." if operator else ""
        return Statement("binding without signatures", first + leads, claims)
    fits = (
        "The first signature fits"
        if event.signatures_tried < 2
        else f"The {ordinal(event.signatures_tried)} signature is the first that fits"
    )
    leads = f" It leads to the operator {operator}." if operator else ""
    signature = f"{fits}: {event.signature}{_tensors(trace, event)}.{leads}"
    return Statement("binding", first, claims), Statement("signature", signature)


def _tensors(trace: Trace, event: ev.BindingEntered) -> str:
    """The tensors by parameter, if there are several: ``, with input = x and weight = w``."""
    tensors = [(name, with_names(trace, text, event.seq)) for name, text in event.arguments if TENSOR.fullmatch(text)]
    return f", with {listed([f'{name} = {text}' for name, text in tensors])}" if len(tensors) > 1 else ""


def _operator(trace: Trace, event: ev.BindingEntered) -> str:
    """The operator that is called first. A signature with an out argument may lead to another operator than its own."""
    few = trace[event.seq + 1 : min(trace.ends[event.seq], event.seq + 8) + 1]
    return next((inner.operator for inner in few if isinstance(inner, ev.Dispatched)), event.operator)


BINDING_KINDS = Kind(
    ev.BindingEntered,
    group="binding",
    label=lambda trace, event: shortened(call_text(trace, event), WIDTH),
    why=_why_binding,
    rule=lambda event: Rule(
        "The Python argument parser tries the signatures of a function in order and takes the first one that fits the "
        "arguments.",
        event.pytorch_function,
        binding_file(event),
    ),
    known=unseen("the Python bindings do not report that they call the operator"),
    level="keys",
    panes=("calls", "source"),
)
