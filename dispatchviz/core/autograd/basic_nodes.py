"""Handwritten Nodes without a formula (``torch/csrc/autograd/functions/basic_ops.h``)."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.edge import Edge
from dispatchviz.core.autograd.node import MAX_SEQUENCE_NR, Gradients, Node


class GraphRoot(Node):
    """Stands above several roots: no inputs, and the root gradients as its outputs. Takes a sequence number."""

    __slots__ = ("outputs",)
    cpp_name = "torch::autograd::GraphRoot"

    def __init__(self, roots: list[Edge], gradients: Gradients) -> None:
        super().__init__()
        self.set_next_edges(list(roots))
        self.outputs = gradients
        for gradient in gradients:
            self.add_input_metadata(gradient)

    def apply(self, grads: Gradients) -> Gradients:
        return list(self.outputs)


class Identity(Node):
    """Hands its gradients on; the placeholder for a requested input that no graph leads to."""

    __slots__ = ()
    cpp_name = "torch::autograd::Identity"

    def apply(self, grads: Gradients) -> Gradients:
        return grads


class Error(Node):
    """Raises when it is reached."""

    __slots__ = ("message",)
    cpp_name = "torch::autograd::Error"

    def __init__(self, message: str) -> None:
        super().__init__(MAX_SEQUENCE_NR)
        self.message = message

    def apply(self, grads: Gradients) -> Gradients:
        """RuntimeError with the message."""
        raise RuntimeError(self.message)


class NotImplemented(Error):
    """The history of an operation that has no formula."""

    __slots__ = ()
    cpp_name = "torch::autograd::NotImplemented"

    def __init__(self, forward: str, inputs: Sequence[Edge] = ()) -> None:
        super().__init__(f"derivative for {forward} is not implemented")
        self.set_next_edges(list(inputs))
