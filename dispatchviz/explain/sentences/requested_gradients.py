"""The gradients that ``grad`` or ``backward(inputs=)`` requests, by the names of their tensors."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.trace_index.display_names import leaf_of, node_title, tensor_name


def requested_inputs(trace: Trace, event: ev.BackwardStarted, at: int | None = None) -> list[str]:
    """The tensors whose gradients are requested, each once; empty for a plain ``backward()``."""
    step = event.seq if at is None else at
    return list(dict.fromkeys(requested_input(trace, event, position, step) for position in range(len(event.inputs))))


def requested_input(trace: Trace, event: ev.BackwardStarted, position: int, at: int) -> str:
    """The tensor of the input at one position."""
    tensor = event.input_tensors[position] if position < len(event.input_tensors) else None
    return tensor_behind(trace, *event.inputs[position], at) if tensor is None else tensor_name(trace, tensor, at)


def tensor_behind(trace: Trace, node: int, output_nr: int, at: int) -> str:
    """The tensor that is output ``output_nr`` of a Node's forward: a leaf, a result; else the Node's name."""
    leaf = leaf_of(trace, node, at)
    result = history(trace).result(node, output_nr, at)
    return leaf or (node_title(trace, node, at) if result is None else tensor_name(trace, result, at))
