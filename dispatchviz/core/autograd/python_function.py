"""Nodes whose forward and backward are Python functions: what ``autograd.Function`` is below.

Mirrors ``torch/csrc/autograd/python_function.cpp`` and ``custom_function.cpp``. A class of Nodes stands for a Function;
its instance is the ``ctx`` of one call and the ``grad_fn`` of what that call returned.

Rule 1: the forward runs with grad mode off, after the Node and its edges were made; the history is set when it returns.
Rule 2: an input that the forward returns as it is comes out as a view of itself; writing to views that come out of here
is refused, since the Function's backward would be lost.
Rule 3: undefined gradients reach the backward as zeros unless ``set_materialize_grads(False)``.

NB: in PyTorch, a Function may also write to its inputs (``mark_dirty``), have a forward-mode formula and a vmap rule;
here it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from dispatchviz.core.autograd import creation_meta
from dispatchviz.core.autograd.node import Gradients, Node
from dispatchviz.core.autograd.saved_variable import ERR_BACKWARD_TWICE, SavedVariable, save
from dispatchviz.core.autograd.variable import collect_next_edges, compute_requires_grad, requires_grad, set_history
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.guards import AutoGradMode
from dispatchviz.core.tensor import Tensor


class FunctionNode(Node):
    """Base: ``forward`` and ``backward`` come from ``function_type``. Users may set attributes on it."""

    forward: ClassVar[Callable[..., Any]]
    backward: ClassVar[Callable[..., Any]]

    needs_input_grad: tuple[Any, ...] = ()
    """Per input: it is a tensor that requires grad."""
    materialize_grads = True
    _is_tensor: tuple[bool, ...] = ()
    """Per input."""
    _to_save: tuple[Tensor | None, ...] = ()
    _saved: list[SavedVariable] | None = None
    _non_differentiable: tuple[Tensor, ...] = ()
    _released = False

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def forward_op_name(self) -> str:
        """The Function's own name."""
        return self.name().removesuffix("Backward")

    # -- what the forward may call ------------------------------------------------------------------------------------

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for the backward, checked for changes then; once a call, in the forward."""
        self._to_save = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs will not require grad."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients become zeros before the backward sees them."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` kept. RuntimeError if it was released or changed."""
        if self._released:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        return tuple(saved.unpack(self) for saved in self._saved or ())

    # -- backward -----------------------------------------------------------------------------------------------------

    def apply(self, grads: Gradients) -> Gradients:
        """One gradient per tensor among the inputs. RuntimeError if the backward returns something else."""
        given: list[Tensor | None] = list(grads)
        if self.materialize_grads:
            pairs = zip(given, self.input_metadata, strict=True)
            given = [entry.zeros_like() if grad is None and not entry.is_undefined else grad for grad, entry in pairs]
        result = type(self).backward(self, *given)
        values = result if isinstance(result, tuple) else (result,)
        return self._gradients(values)

    def _gradients(self, values: tuple[Any, ...]) -> Gradients:
        count = len(self._is_tensor)
        if len(values) > count and all(value is None for value in values[count:]):
            values = values[:count]
        if len(values) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(values)})"
            )
        numbered = enumerate(zip(values, self._is_tensor, strict=True), 1)
        return [
            self._checked(position, value)
            for position, (value, tensor) in numbered
            if self._wanted(position, value, tensor)
        ]

    def _wanted(self, position: int, value: Any, is_tensor: bool) -> bool:
        if not is_tensor and value is not None:
            raise RuntimeError(
                f"function {self.name()} returned a gradient different than None at position {position}, but the "
                "corresponding forward input was not a Variable"
            )
        return is_tensor

    def _checked(self, position: int, value: Any) -> Tensor | None:
        if value is not None and not isinstance(value, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(value).__name__})")
        return value

    def release_variables(self) -> None:
        self._released = True
        for saved in self._saved or ():
            saved.reset_data()


def function_type(name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> type[FunctionNode]:
    """A class of Nodes for a Function of this name: ``forward(ctx, *inputs)``, ``backward(ctx, *grads)``."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(f"{name}Backward", (FunctionNode,), members)


def apply_function(function: type[FunctionNode], *inputs: Any) -> Any:
    """``Function.apply``: runs the forward and gives what it returns a history. TypeError for what cannot be saved."""
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    executable = compute_requires_grad(*tensors)
    node = function()
    if executable:
        collect_next_edges(node, *tensors)
    node._is_tensor = tuple(isinstance(value, Tensor) for value in inputs)
    node.needs_input_grad = tuple(isinstance(value, Tensor) and requires_grad(value) for value in inputs)
    with AutoGradMode(False, "the forward of a custom Function"):
        result = function.forward(node, *inputs)
    outputs = result if isinstance(result, tuple) else (result,)
    wrapped = _wrapped(node, outputs, tensors, executable)
    if executable:
        _save(node)
    return tuple(wrapped) if isinstance(result, tuple) else wrapped[0]


def _wrapped(node: FunctionNode, outputs: Sequence[Any], inputs: list[Tensor], executable: bool) -> list[Any]:
    """The outputs with their history; what is no tensor keeps its place among the Node's inputs."""
    wrapped: list[Any] = []
    for output in outputs:
        if not isinstance(output, Tensor):
            node.add_input_metadata(None)
            wrapped.append(output)
            continue
        is_input = any(output is given for given in inputs)
        tensor = _view_of_itself(output) if is_input else output
        wrapped.append(tensor)
        if executable and _differentiable(node, output):
            set_history(tensor, node)
        else:
            node.add_input_metadata(tensor)
        if tensor._view is not None:
            tensor._view.creation_meta = creation_meta.IN_CUSTOM_FUNCTION
    return wrapped


def _differentiable(node: FunctionNode, output: Tensor) -> bool:
    marked = any(output is tensor for tensor in node._non_differentiable)
    return output._dtype.can_require_grad and not marked


def _view_of_itself(tensor: Tensor) -> Tensor:
    with AutoGradMode(False, "a view of an input that is returned"):
        view: Tensor = ops.view.call(tensor, tensor._size)
    return view


def _save(node: FunctionNode) -> None:
    for position, tensor in enumerate(node._to_save):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type {type(tensor).__name__}"
            )
    node._saved = [
        save(node, f"saved_tensors[{i}]", tensor, is_output=tensor is not None and tensor._grad_fn is node)
        for i, tensor in enumerate(node._to_save)
    ]
    node._to_save = ()
