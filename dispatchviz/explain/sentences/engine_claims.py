"""Facts for the sentences of the engine, gathered from a trace: claims about PyTorch, requested gradients."""

from __future__ import annotations

from collections.abc import Iterable

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.sentences.sentence_claims import NodeRuns
from dispatchviz.explain.trace_index.display_names import leaf_of, node_title, tensor_name

UNKNOWN = -1
"""The graph task of a step outside any backward pass."""


def pass_number(trace: Trace, seq: int) -> int:
    """The graph task that a step belongs to."""
    backward = backward_around(trace, seq)
    return UNKNOWN if backward is None else backward.event.graph_task


def runs(trace: Trace, seq: int, nodes: Iterable[int]) -> tuple[NodeRuns, ...]:
    """The claims about whether the engine evaluates some Nodes; that a Node runs is not claimed if an error ends the
    pass.
    """
    backward = backward_around(trace, seq)
    if backward is None:
        return ()
    found = [NodeRuns(backward.event.graph_task, node, will_run(trace, backward, node)) for node in nodes]
    return tuple(claim for claim in found if backward.finished or not claim.runs)


def will_run(trace: Trace, backward: Backward, node: int) -> bool:
    """Return whether the engine evaluates a Node that it reaches."""
    return backward.needs(node) and node not in backward.pruned


def edge_text(trace: Trace, node: int, edge: int, at: int) -> str:
    """``self=x (edge 0)``: the forward argument behind an edge."""
    made = history(trace).edges(node, at)
    if made is None or edge >= len(made.inputs):
        return f"edge {edge}"
    name, tensor = made.inputs[edge]
    passed = name if tensor is None else f"{name}={tensor_name(trace, tensor, at)}"
    return f"{passed} (edge {edge})" if passed else f"edge {edge}"


def requested_inputs(trace: Trace, event: ev.BackwardStarted, at: int | None = None) -> list[str]:
    """The tensors whose gradients are requested, each once; empty for a plain ``backward()``."""
    step = event.seq if at is None else at
    return list(dict.fromkeys(requested_input(trace, event, position, step) for position in range(len(event.inputs))))


def requested_input(trace: Trace, event: ev.BackwardStarted, position: int, at: int) -> str:
    """The tensor of the input at one position."""
    tensor = event.input_tensors[position] if position < len(event.input_tensors) else None
    return tensor_behind(trace, *event.inputs[position], at) if tensor is None else tensor_name(trace, tensor, at)


def tensor_behind(trace: Trace, node: int, output_nr: int, at: int) -> str:
    """The tensor that is output ``output_nr`` of a Node's forward (a leaf or a result), else the Node's name."""
    leaf = leaf_of(trace, node, at)
    result = history(trace).result(node, output_nr, at)
    return leaf or (node_title(trace, node, at) if result is None else tensor_name(trace, result, at))
