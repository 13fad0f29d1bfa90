"""GraphRoot, Identity, Error, DelayedError, UndefinedGrad: Nodes without a formula
(``torch/csrc/autograd/functions/basic_ops.h``)."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import MAX_SEQUENCE_NR, Gradients, Node
from dispatchviz.core.autograd.variables.variable import (
    collect_next_edges,
    requires_grad,
    set_history,
    shallow_copy_and_detach,
)
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread


class GraphRoot(Node):
    """The Node above several roots. It has no inputs, and its outputs are the root gradients. It takes a sequence
    number.
    """

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
    """The Node that passes its gradients on: the placeholder for a requested input to which no graph leads."""

    __slots__ = ()
    cpp_name = "torch::autograd::Identity"

    def apply(self, grads: Gradients) -> Gradients:
        return grads


class Error(Node):
    """A Node that raises when it is reached."""

    __slots__ = ("message",)
    cpp_name = "torch::autograd::Error"

    def __init__(self, message: str) -> None:
        super().__init__(MAX_SEQUENCE_NR)
        self.message = message

    def apply(self, grads: Gradients) -> Gradients:
        """Raise RuntimeError with the message."""
        raise RuntimeError(self.message)


class DelayedError(Node):
    """A function that returns aliases of tensors, whose history is an Error. ``once_differentiable`` uses it."""

    __slots__ = ("message",)
    cpp_name = "torch::autograd::DelayedError"

    def __init__(self, message: str, num_inputs: int) -> None:
        super().__init__()
        self.message = message
        for _ in range(num_inputs):
            self.add_input_metadata(None)

    def apply(self, grads: Gradients) -> Gradients:
        aliases = [None if t is None else _detached(t) for t in grads]
        if any(tensor is not None and requires_grad(tensor) for tensor in grads):
            error = Error(self.message)
            if thread.state.grad_mode:
                collect_next_edges(error, *grads)
            for alias in aliases:
                set_history(alias, error)
        return aliases


class UndefinedGrad(Node):
    """A function that returns copies of tensors, whose gradients become undefined."""

    __slots__ = ()
    cpp_name = "torch::autograd::UndefinedGrad"

    def __init__(self) -> None:
        super().__init__()
        self.add_input_metadata(None)

    def apply(self, grads: Gradients) -> Gradients:
        copies = [None if t is None else _detached(ops.clone.call(t)) for t in grads]
        if thread.state.grad_mode and any(tensor is not None and requires_grad(tensor) for tensor in grads):
            undefined = UndefinedGradBackward()
            collect_next_edges(undefined, *grads)
            for copy in copies:
                set_history(copy, undefined)
        return copies


def _detached(tensor: Tensor) -> Tensor:
    alias = shallow_copy_and_detach(tensor, tensor._version_counter)
    if recorder.active is not None and alias._number < 0:  # it did not come from a handler
        recorder.active.tensor_created(alias)
    return alias


class UndefinedGradBackward(Node):
    """The Node that drops its gradients."""

    __slots__ = ()
    cpp_name = "torch::autograd::UndefinedGradBackward"

    def apply(self, grads: Gradients) -> Gradients:
        return [None] * len(grads)


class NotImplemented(Error):
    """The history of an operation that has no formula."""

    __slots__ = ()
    cpp_name = "torch::autograd::NotImplemented"

    def __init__(self, forward: str, inputs: Sequence[Edge] = ()) -> None:
        super().__init__(f"derivative for {forward} is not implemented")
        if inputs:
            self.set_next_edges(list(inputs))
