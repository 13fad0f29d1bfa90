"""The backend fallback for the Autograd keys, for operators without an autograd kernel of their own
(``torch/csrc/autograd/autograd_not_implemented_fallback.cpp``).

It mirrors ``aten/src/ATen/core/VariableFallbackKernel.cpp`` and the first half of
``torch/csrc/autograd/autograd_not_implemented_fallback.cpp``. Custom operators with nothing but a kernel for a backend
run through it. Their gradient ends here, with a warning when backward reaches it.

Not here: the boxed kernels of PyTorch's own operators without a derivative (``not_implemented_fallback.py``), which
raise.

Rule 1: there is no guard. The calls of the backend's kernel are differentiated, and a result with a history of its own
keeps it. Then a hook on that result warns.
Rule 2: an argument that the schema declares as written in place gets no Node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.autograd.hooks.tensor_hooks import register_hook
from dispatchviz.core.autograd.variables.variable import (
    collect_next_edges,
    compute_requires_grad,
    requires_grad,
    set_history,
)
from dispatchviz.core.call.dispatcher import redispatch_boxed
from dispatchviz.core.keys.key_set import after_autograd_keyset
from dispatchviz.core.schema.function_schema import Argument
from dispatchviz.core.seam import recorder
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread import warning

NOTHING, WARN = "nothing", "warn"
"""The modes: only redispatch, or leave a Node that warns."""

_mode = WARN


def get_autograd_fallback_mode() -> str:
    """The process's mode."""
    return _mode


def set_autograd_fallback_mode(mode: str) -> None:
    """Set the process's mode. Raise RuntimeError for the mode ``error``, which PyTorch names and does not have, and for
    other values.
    """
    global _mode
    if mode == "error":
        raise RuntimeError("NYI: mode='error'")
    if mode not in (NOTHING, WARN):
        raise RuntimeError(
            'false INTERNAL ASSERT FAILED at "torch/csrc/autograd/init.cpp":653, please report a bug to PyTorch. '
            f"Unsupported AutogradFallbackMode: {mode}"
        )
    _mode = mode


def autograd_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Redispatch without a guard. A result without a history gets a Node that warns in backward."""
    arguments = tensors_of(op.schema.arguments, stack[len(stack) - len(op.schema.arguments) :])
    node: WarnNotImplemented | None = None
    if _mode != NOTHING and compute_requires_grad(*arguments):
        node = WarnNotImplemented(op.schema.name, len(arguments))
        collect_next_edges(node, *arguments)
    redispatch_boxed(op, ks & after_autograd_keyset, stack)
    if node is None:
        return
    for position, result in results_of(op, stack):
        _leave_warning(result, node, is_mutable_output(op, position))


def tensors_of(declared: Sequence[Argument], values: Sequence[Any]) -> list[Tensor]:
    """The tensors among the values of arguments or returns, with members of lists, but not those of ``Tensor?[]``."""
    return [tensor for argument, value in zip(declared, values, strict=True) for tensor in _members(argument, value)]


def results_of(op: OperatorEntry, stack: list[Any]) -> list[tuple[int, Tensor]]:
    """The tensors that a kernel has pushed onto the stack, each with the position of its return."""
    returns = op.schema.returns
    values = stack[len(stack) - len(returns) :]
    pairs = enumerate(zip(returns, values, strict=True))
    return [(position, tensor) for position, (declared, value) in pairs for tensor in _members(declared, value)]


def _members(declared: Argument, value: Any) -> Sequence[Tensor]:
    if isinstance(value, Tensor):
        return (value,)
    return value if isinstance(value, (list, tuple)) and declared.type.startswith("Tensor[") else ()


def is_mutable_output(op: OperatorEntry, position: int) -> bool:
    """Return whether the schema declares a return to be an argument that was written to."""
    return op.schema.returns[position].is_write


def _leave_warning(result: Tensor, node: WarnNotImplemented, mutable: bool) -> None:
    """Add a hook or a Node that warns when a gradient reaches the result."""
    if not result._dtype.can_require_grad:
        return
    if requires_grad(result):
        warn = warns(node.op_name)
        register_hook(result, warn)
        if mutable and result._view is not None and requires_grad(result._view.base):
            register_hook(result._view.base, warn)  # if the history is rebased, the base's gradient passes here
    elif not mutable:
        set_history(result, node)
    elif recorder.active is not None:
        recorder.active.note(("no_node_made", "the result is an argument that the operator wrote to"))


class WarnNotImplemented(Node):
    """A Node that warns when it runs. All its gradients are undefined."""

    __slots__ = ("num_outputs", "op_name")
    cpp_name = "torch::autograd::WarnNotImplemented"

    def __init__(self, op_name: str, num_outputs: int) -> None:
        super().__init__()
        self.op_name = op_name
        self.num_outputs = num_outputs

    def apply(self, grads: Gradients) -> Gradients:
        warn_autograd_not_implemented(self.op_name)
        return [None] * self.num_outputs


WarnNotImplemented.__name__ = "CppFunction"  # Python's type of C++ Nodes without a type of their own


def warns(op_name: str) -> Callable[[Tensor], None]:
    """Return a tensor hook that warns."""

    def warn_autograd_not_implemented_hook(grad: Tensor) -> None:
        warn_autograd_not_implemented(op_name)

    return warn_autograd_not_implemented_hook


def warn_autograd_not_implemented(op_name: str) -> None:
    """Issue PyTorch's UserWarning."""
    warning.warn_python(
        f"{op_name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
        "through it. This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in "
        "a future version of PyTorch. If your operator is differentiable, please ensure you have registered an "
        "autograd kernel to the correct Autograd key (e.g. DispatchKey::Autograd, "
        "DispatchKey::CompositeImplicitAutograd). If your operator is not differentiable, or to squash this warning "
        "and use the previous behavior, please register torch::CppFunction::makeFallthrough() to "
        "DispatchKey::Autograd.",
        "torch/csrc/autograd/autograd_not_implemented_fallback.cpp:76",
    )
