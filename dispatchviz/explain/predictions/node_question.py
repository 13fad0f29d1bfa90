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
from dispatchviz.explain.trace_index.recorded_engine import is_live

ASKED = ("grad mode is off", "no input requires grad")
"""The reasons for no Node that depend on the call. An operator without a derivative is no question."""

ACCUMULATE_GRAD = "AccumulateGrad"

_NODE = re.compile(r"\bnodes\.(\w+)\(")


def is_node_made(trace: Trace, event: ev.NodeCreated | ev.NoNodeMade) -> Prediction | None:
    """The question at the first step of an autograd kernel, or in a recording of PyTorch at the Node of its call."""
    kernel = _kernel(trace, event)
    if kernel is None:
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


def _kernel(trace: Trace, event: ev.NodeCreated | ev.NoNodeMade) -> ev.KernelEntered | None:
    """Return the kernel that a step is in, unless another step of the kernel shows the answer before."""
    parent, before = trace[event.parent or 0], trace[max(event.seq - 1, 0)]
    shows = isinstance(before, ev.NodeCreated | ev.AccumulatorMade)
    if not is_live(trace.header):
        shows = before.seq != parent.seq
    return parent if isinstance(parent, ev.KernelEntered) and not shows else None


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
