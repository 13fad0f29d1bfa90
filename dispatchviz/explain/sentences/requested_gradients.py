"""What a ``grad`` or a ``backward(inputs=)`` was asked for, in words."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.trace_index.display_names import leaf_of, node_title, tensor_name


def asked_for(trace: Trace, event: ev.BackwardStarted, at: int | None = None) -> list[str]:
    """The tensors whose gradients were asked for, each once; empty if all were."""
    step = event.seq if at is None else at
    return list(dict.fromkeys(asked_at(trace, event, place, step) for place in range(len(event.inputs))))


def asked_at(trace: Trace, event: ev.BackwardStarted, place: int, at: int) -> str:
    """One of them."""
    tensor = event.input_tensors[place] if place < len(event.input_tensors) else None
    return tensor_behind(trace, *event.inputs[place], at) if tensor is None else tensor_name(trace, tensor, at)


def tensor_behind(trace: Trace, node: int, output_nr: int, at: int) -> str:
    """The tensor that is output ``output_nr`` of a Node's forward: a leaf, a result; else the Node's name."""
    leaf = leaf_of(trace, node, at)
    made = [event for step, event in history(trace).entries.get(node, ()) if step <= at]
    results = [e.tensor for e in made if isinstance(e, _RESULTS) and e.output_nr == output_nr]
    return leaf or (tensor_name(trace, results[-1], at) if results else node_title(trace, node, at))


_RESULTS = (ev.HistorySet, ev.HistoryRebased)
