"""Words for a Node's state and for a tensor, in the graph pane and in pictures."""

from __future__ import annotations

from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.graph_node import GraphNode, GraphTensor, State
from dispatchviz.foundation.english import nth, plain_dtype, shaped


def state_text(graph: BackwardGraph, node: GraphNode) -> str:
    """``2nd: done``, ``waits for 2``; empty while no backward has started on the graph."""
    order = f"{nth(node.order)}: " if node.order else ""
    if node.state is State.WAITING:
        return f"waits for {node.left}" if node.left else "has all it waits for"
    if node.state is State.CREATED and graph.graph_task is None:
        return ""
    return f"{order}{node.state.value}"


def described(tensor: GraphTensor) -> str:
    """``[2, 2] float32 cuda:0``."""
    shape = "" if tensor.shape is None else shaped(tensor.shape)
    return " ".join(part for part in (shape, plain_dtype(tensor.dtype), tensor.device) if part)
