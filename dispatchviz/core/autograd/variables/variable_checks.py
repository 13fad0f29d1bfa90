"""``check_inplace`` and other checks of autograd kernels (``torch/csrc/autograd/VariableTypeUtils.h``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core.autograd.variables import creation_meta
from dispatchviz.core.autograd.variables.variable import is_leaf, requires_grad
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.tensor_events import InplaceVerdict


def check_inplace(tensor: Tensor, op_requires_grad: bool) -> None:
    """Raise RuntimeError with PyTorch's text if writing into a tensor would make its history wrong.

    ``op_requires_grad`` means that any input of the operation requires grad.
    """
    rec = recorder.active
    if rec is None and not op_requires_grad:
        return
    why = _verdict(tensor, op_requires_grad)
    allowed = why not in _ERRORS
    if rec is not None:
        rec.inplace_checked(tensor, allowed, why)
    if not allowed:
        raise _inplace_error(tensor, why)


def can_mutate_inplace(tensor: Tensor, op_requires_grad: bool) -> bool:
    """Return whether ``check_inplace`` accepts the tensor."""
    return _verdict(tensor, op_requires_grad) not in _ERRORS


def _verdict(tensor: Tensor, op_requires_grad: bool) -> InplaceVerdict:
    """Return the condition that decides, in PyTorch's order (``can_mutate_inplace``). While grad mode is off, no
    operation requires grad.
    """
    if not thread.state.grad_mode:
        return "grad mode is off"
    if not op_requires_grad:
        return "no argument requires grad"
    view = tensor._view
    if view is not None and view.creation_meta != creation_meta.DEFAULT:
        return "view whose creation_meta forbids it"
    if not requires_grad(tensor):
        return "it does not require grad"
    if view is not None and is_leaf(view.base):
        return "view of a leaf that requires grad"
    if tensor._grad_fn is None:  # the history as it was last set: a stale view does not replay it
        return "leaf that requires grad"
    return "it is not a leaf"


_ERRORS: dict[InplaceVerdict, str] = {
    "view whose creation_meta forbids it": "",
    "view of a leaf that requires grad": (
        "a view of a leaf Variable that requires grad is being used in an in-place operation."
    ),
    "leaf that requires grad": "a leaf Variable that requires grad is being used in an in-place operation.",
}
"""The verdicts that forbid it, with PyTorch's text. An empty text depends on the view."""


def _inplace_error(tensor: Tensor, why: InplaceVerdict) -> RuntimeError:
    view = tensor._view
    if _ERRORS[why] or view is None:
        return RuntimeError(_ERRORS[why])
    node = tensor._grad_fn
    name = None if node is None else node.forward_op_name()
    return creation_meta.modified_view_error(view.creation_meta, tensor._output_nr, name, indirect=False)


def check_out_variant(name: str, *tensors: Tensor | None) -> None:
    """Raise RuntimeError if grad mode is on and an argument requires grad, since out= operations are not
    differentiable.
    """
    if thread.state.grad_mode and any(tensor is not None and requires_grad(tensor) for tensor in tensors):
        raise out_requires_grad_error(name)


def out_requires_grad_error(name: str) -> RuntimeError:
    """PyTorch's error for an out= operation whose arguments require grad."""
    return RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
        "requires grad."
    )


def check_no_requires_grad(tensor: Tensor | None, name: str, function: str) -> None:
    """Raise RuntimeError if an argument without a formula requires grad."""
    if tensor is not None and thread.state.grad_mode and requires_grad(tensor):
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{name}'. "
            "This input cannot have requires_grad True."
        )


def never_differentiable() -> None:
    """Record that the kernel of an operator without derivative makes no Node."""
    if recorder.active is not None:
        recorder.active.note(("no_node_made", "never differentiable"))
