"""FunctionBase: the Node of a ``torch.autograd.Function``, which is its ``ctx``
(``torch/csrc/autograd/python_function.cpp``).

This module mirrors ``torch/csrc/autograd/python_function.cpp`` (``THPFunction`` and ``PyNode``, which are one object
here; its name in Python is ``torch._C._FunctionBase``). ``custom_function.py`` runs a call, and
``torch/autograd/function.py`` has the classes that users see.

Rule 1: ``ctx.x = ...`` belongs to the user. The machine's attributes are in slots, and not in ``__dict__``. Their names
begin with ``_thp`` (PyTorch keeps them in the struct ``THPFunction``), so that programs hardly ever set one of them.
Rule 2: calls of the forward on ``ctx`` (``save_for_backward``, ``mark_dirty``...) only store their arguments. These are
read, checked and dropped when the forward has returned.
Rule 3: undefined gradients reach the backward as zeros unless ``set_materialize_grads(False)``.

NB: in PyTorch, the Node and its Python object are two, so that any attribute name is free on a ctx. Here ``hooks``,
``input_metadata`` and the other slots of ``Node`` are taken, and so are its methods (except ``name``, ``device`` and
``stream``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from dispatchviz.core.autograd.graph.input_metadata import InputMetadata
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.autograd.graph.saved_variable import ERR_BACKWARD_TWICE, SavedVariable
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

_ACCESSED_ONCE = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)


def _ctx_attribute(slot: str) -> property:
    """Return a property for an attribute that a forward sets. It is None until then, and again after it was read."""

    def read(node: FunctionBase) -> Any:
        return getattr(node, slot)

    def write(node: FunctionBase, value: Any) -> None:
        setattr(node, slot, value)

    return property(read, write)


def _flag(slot: str, name: str, function: str, readable: bool = False) -> property:
    """Return a property for a bool that a forward sets. It raises TypeError for anything else."""

    def read(node: FunctionBase) -> Any:
        if not readable:
            raise AttributeError(f"attribute '{name}' of 'torch._C._FunctionBase' objects is not readable")
        return getattr(node, slot)

    def write(node: FunctionBase, value: object) -> None:
        if not isinstance(value, bool):  # PyTorch counts no arguments in this text
            raise TypeError(f"{function} received an invalid combination of arguments - got (), but expected (bool)")
        setattr(node, slot, value)

    return property(read, write)


class FunctionBase(Node):
    """The base class of the Nodes of Functions. Subclasses have ``apply(*gradients)`` and ``apply_boxed``."""

    __slots__ = (
        "_thp_accessed_and_cleared",
        "_thp_backward_state",
        "_thp_boxed",
        "_thp_clear_on_access",
        "_thp_dirty",
        "_thp_freed",
        "_thp_input_info",
        "_thp_is_variable_input",
        "_thp_marked_non_differentiable",
        "_thp_materialize",
        "_thp_materialize_non_diff",
        "_thp_needs",
        "_thp_output_info",
        "_thp_pure_view",
        "_thp_put_for_backward",
        "_thp_put_for_forward",
        "_thp_saved",
    )

    _backward_cls: ClassVar[type[FunctionBase]]
    """The class of a Function's Nodes."""
    _forward_cls: ClassVar[type[FunctionBase]]
    """The Function of a class of Nodes."""

    forward: ClassVar[Callable[..., Any]]
    setup_context: ClassVar[Callable[..., Any]]
    _compiled_autograd_key: ClassVar[Callable[..., Any]]

    _thp_put_for_backward: Any
    _thp_put_for_forward: Any
    _thp_marked_non_differentiable: Any
    _thp_dirty: Any
    _thp_needs: tuple[Any, ...] | None
    """The attribute ``needs_input_grad``, with an entry per argument of the forward."""
    _thp_materialize: bool
    _thp_materialize_non_diff: bool
    _thp_pure_view: bool
    """True if returned views may be written to."""
    _thp_clear_on_access: bool
    _thp_accessed_and_cleared: bool
    _thp_boxed: bool
    """True if the backward gets its gradients in one list."""
    _thp_backward_state: Any
    _thp_saved: list[SavedVariable]
    _thp_freed: bool
    """True if the variables, if any, were released."""
    _thp_is_variable_input: tuple[bool, ...]
    """For each argument of the forward, True if it is a tensor."""
    _thp_input_info: list[InputMetadata]
    """The metadata of the tensors among the arguments."""
    _thp_output_info: list[InputMetadata]
    """The metadata of everything that the forward returned, for zeros of the same shape."""

    to_save = _ctx_attribute("_thp_put_for_backward")
    saved_for_forward = _ctx_attribute("_thp_put_for_forward")
    non_differentiable = _ctx_attribute("_thp_marked_non_differentiable")
    dirty_tensors = _ctx_attribute("_thp_dirty")
    needs_input_grad = _ctx_attribute("_thp_needs")
    materialize_grads = _flag("_thp_materialize", "materialize_grads", "set_materialize_grads")
    _is_pure_view = _flag("_thp_pure_view", "_is_pure_view", "set_pure_view")
    _materialize_non_diff_grads = _flag(
        "_thp_materialize_non_diff", "_materialize_non_diff_grads", "set_materialize_non_diff_grads", readable=True
    )

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Create the Node and take a sequence number, even if the call fails later."""
        self = super().__new__(cls)
        Node.__init__(self)
        self._thp_put_for_backward = self._thp_put_for_forward = self._thp_marked_non_differentiable = (
            self._thp_dirty
        ) = None
        self._thp_needs = None
        self._thp_materialize, self._thp_materialize_non_diff, self._thp_pure_view = True, True, False
        self._thp_clear_on_access = self._thp_accessed_and_cleared = self._thp_boxed = self._thp_freed = False
        self._thp_saved, self._thp_input_info, self._thp_output_info, self._thp_is_variable_input = [], [], [], ()
        self._thp_backward_state = None
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing. ``__new__`` has done everything, so users' classes need not call this."""

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__} object at {id(self):#x}>"

    def _register_hook_dict(self, tensor: Any) -> None:
        """Register the hooks of a tensor as any Node does. Raise RuntimeError for anything but a tensor."""
        if not isinstance(tensor, Tensor):
            raise RuntimeError("_register_hook_dict expected a Tensor")
        self._add_hooks_of(tensor)

    def __call__(self, *grads: Any, **keywords: Any) -> NoReturn:
        """Raise TypeError: unlike other Nodes it cannot be called."""
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def forward_op_name(self) -> str:
        """Return the name of the operation in messages: the Function's own name."""
        return Node.name(self).removesuffix("Backward")

    # -- saved tensors ------------------------------------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors that the forward saved. Raise RuntimeError if they were released, or changed since."""
        if self._thp_accessed_and_cleared:
            raise RuntimeError(_ACCESSED_ONCE)
        if self._thp_put_for_forward is not None:
            return self._thp_put_for_forward  # type: ignore[no-any-return]  # as users gave them
        return self._thp_unpacked()

    def _thp_unpacked(self) -> tuple[Tensor | None, ...]:
        if self._thp_freed:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        tensors = tuple([saved.unpack(self) for saved in self._thp_saved])
        if self._thp_clear_on_access:
            self._thp_saved, self._thp_accessed_and_cleared = [], True
        return tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedVariable, ...]:
        if self._thp_freed:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        return tuple(self._thp_saved)

    def release_variables(self) -> None:
        for saved in self._thp_saved:
            saved.reset_data()
        self._thp_saved, self._thp_freed = [], True

    def maybe_clear_saved_tensors(self) -> None:
        """Release the saved tensors during a backward that no longer needs them, unless the graph is kept."""
        task = thread.state.graph_task
        if task is None or not task.keep_graph:
            self.release_variables()

    # -- running ------------------------------------------------------------------------------------------------------

    @classmethod
    def formula(cls) -> Callable[..., Any]:
        """Return the user's backward."""
        return cls._forward_cls._user_backward()

    @classmethod
    def _user_backward(cls) -> Callable[..., Any]:
        return cls.backward  # type: ignore[attr-defined,no-any-return]  # of every Function

    def _thp_evaluate(self, grads: Gradients) -> Gradients:
        """Return one gradient per tensor among the inputs (``PyNode::apply``).

        Raise RuntimeError if the backward returns something else. ``grads`` is empty afterwards.
        """
        given = self._thp_materialized(grads)
        grads.clear()
        apply: Callable[..., Any] = self.apply_boxed if self._thp_boxed else self.apply  # type: ignore[attr-defined]
        result = apply(given) if self._thp_boxed else apply(*given)
        del given
        return self._thp_gradients(result if isinstance(result, tuple) else (result,))

    def apply_alone(self, grads: Gradients) -> Gradients:
        """Run without a lock: a Function's Node has none, since PyTorch's interpreter has one."""
        return self._thp_evaluate(grads)

    def release_alone(self) -> None:
        """Release the variables without a lock."""
        self.release_variables()

    def _thp_materialized(self, grads: Gradients) -> Gradients:
        """Return the gradients, with zeros in place of undefined ones if ``materialize_grads``."""
        if not self._thp_materialize:
            return list(grads)
        expected = zip(grads, self.input_metadata, self._thp_output_info, strict=True)
        return [
            grad if grad is not None or (entry.is_undefined and not self._thp_materialize_non_diff) else _zeros(info)
            for grad, entry, info in expected
        ]

    def _thp_gradients(self, values: tuple[Any, ...]) -> Gradients:
        tensors = self._thp_is_variable_input
        count = len(tensors)
        if len(values) > count and all(value is None for value in values[count:]):
            values = values[:count]
        if len(values) != count:
            raise RuntimeError(
                f"function {Node.name(self)} returned an incorrect number of gradients (expected {count}, got "
                f"{len(values)})"
            )
        checked = [self._thp_checked(*numbered) for numbered in enumerate(values)]
        return [value for value, is_tensor in zip(checked, tensors, strict=True) if is_tensor]

    def _thp_checked(self, index: int, value: Any) -> Tensor | None:
        if value is None:
            return None
        if not self._thp_is_variable_input[index]:
            raise RuntimeError(
                f"function {Node.name(self)} returned a gradient different than None at position {index + 1}, but the "
                "corresponding forward input was not a Variable"
            )
        if not isinstance(value, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(value).__name__})")
        return value

    # -- the class side -----------------------------------------------------------------------------------------------

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:  # on the class of Nodes it is the method that the engine calls
        """Call a Function. See ``custom_function.apply``."""
        from dispatchviz.core.autograd.function import custom_function  # which needs this class

        return custom_function.apply(cls, *args, **kwargs)

    def _get_compiled_autograd_symints(self) -> tuple[int, ...]:
        return ()


def _zeros(info: InputMetadata) -> Tensor | None:
    """Return zeros for an undefined gradient; None for an output that was not a tensor."""
    return None if info.is_undefined else info.zeros_like()


def _saved_variables(node: FunctionBase) -> tuple[Tensor | None, ...]:
    warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
    if node._thp_accessed_and_cleared:
        raise RuntimeError(_ACCESSED_ONCE)
    return node._thp_unpacked()


FunctionBase.__name__ = FunctionBase.__qualname__ = "_FunctionBase"
FunctionBase.__module__ = "torch._C"
FunctionBase.saved_variables = property(_saved_variables)  # type: ignore[assignment]
"""PyTorch's old name of ``saved_tensors``. On other Nodes this attribute lists the names of saved tensors."""
