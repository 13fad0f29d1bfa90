"""GradientEdge: an edge of the graph that is passed instead of a tensor (``torch/autograd/graph.py``).

``backward`` and ``grad`` accept one wherever they accept a tensor.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.autograd.variables.variable import grad_fn, requires_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoGradMode


class GradientEdge(NamedTuple):
    """Input ``output_nr`` of a Node, where the gradient of the forward output with that number arrives."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None
    """An object that keeps the graph alive if ``node`` does not."""


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge of a tensor. Raise RuntimeError if it does not require grad."""
    if not requires_grad(tensor):
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients",
        )
    node = grad_fn_or_accumulator(tensor)
    token = _history_of_a_view(tensor) if isinstance(node, FunctionBase) else None
    return GradientEdge(node, tensor._output_nr, token)


def grad_fn_or_accumulator(tensor: Tensor | GradientEdge) -> Node:
    """Return the Node to which the gradient of a tensor goes. A leaf's is read from a view of it, which takes a
    sequence number.

    Raise AssertionError if there is none.
    """
    if isinstance(tensor, GradientEdge):
        return tensor.node
    node = grad_fn(tensor)
    if node is None and requires_grad(tensor):
        node = _history_of_a_view(tensor).next_edges[0].function
    if node is None:
        raise AssertionError("Expected gradient function to be set")
    return node


def _history_of_a_view(tensor: Tensor) -> Node:
    with AutoGradMode(True, "torch.enable_grad()"):
        node = grad_fn(ops.view_as.call(tensor, tensor))
    assert node is not None, "the tensor requires grad"
    return node


def parse(edge: GradientEdge) -> Edge:
    """Return the Edge. Raise RuntimeError if ``node`` is not a Node, TypeError if the number is not a number."""
    if not isinstance(edge.node, Node):
        raise RuntimeError(
            f"GradientEdge's first object must be an autograd.graph.Node but got {type(edge.node).__name__}"
        )
    if not isinstance(edge.output_nr, int):
        raise TypeError(f"'{type(edge.output_nr).__name__}' object cannot be interpreted as an integer")
    return Edge(edge.node, edge.output_nr)
