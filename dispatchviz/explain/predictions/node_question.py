"""The question whether the autograd kernel of a call records a Node."""

from __future__ import annotations

import re
from functools import lru_cache

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.codegen.definitions import definition
from dispatchviz.explain.keys.key_text import is_autograd
from dispatchviz.explain.kinds.all_kinds import statements
from dispatchviz.explain.predictions.prediction import Kind, Prediction, is_outer, prediction
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.enclosing_steps import around

ASKED = ("grad mode is off", "no input requires grad")
"""The reasons for no Node that depend on the call. An operator without a derivative is no question."""

ACCUMULATE_GRAD = "AccumulateGrad"

_NODE = re.compile(r"\bnodes\.(\w+)\(")


def is_node_made(trace: Trace, event: ev.NodeCreated | ev.NoNodeMade) -> Prediction | None:
    """The question at the first step of an autograd kernel."""
    kernel = trace[event.seq - 1] if event.seq else None
    if not isinstance(kernel, ev.KernelEntered) or kernel.seq != event.parent:
        return None
    call = around(trace, kernel.seq, ev.Dispatched)
    name = node_of(kernel.kernel)
    if call is None or not name or not is_autograd(call.key) or not _is_asked(event, name):
        return None
    why, made = _sentence(trace, event), isinstance(event, ev.NodeCreated)
    yes, no, leaf = f"yes: {name}", "no", f"yes: {ACCUMULATE_GRAD}"
    other = f"{ACCUMULATE_GRAD} is the Node of a leaf and writes its .grad. No call has one of its own."
    return prediction(
        Kind.NODE,
        f"The {call.key} kernel of {call.operator} runs. Will it record a Node for the call?",
        [(yes, why), (leaf, f"{other} {why}"), (no, why)],
        yes if made else no,
        event.seq,
        ("made",) if made else ("not made", event.why if isinstance(event, ev.NoNodeMade) else ""),
        (),
        is_outer(trace, event.seq),
    )


def _is_asked(event: ev.NodeCreated | ev.NoNodeMade, name: str) -> bool:
    if isinstance(event, ev.NodeCreated):
        return not event.known and plain_node(event.name) == name
    return event.why in ASKED


def _sentence(trace: Trace, event: ev.NodeCreated | ev.NoNodeMade) -> str:
    return statements(trace, event.seq)[0].text


@lru_cache(maxsize=1024)
def node_of(kernel: str) -> str:
    """The Node that a generated autograd kernel creates, if any; empty for other kernels."""
    owner, _, function = kernel.rpartition("::")
    piece = definition("generated/variable_type.py", function) if owner == "VariableType" else None
    found = None if piece is None else _NODE.search(piece.text)
    return "" if found is None else found[1]
