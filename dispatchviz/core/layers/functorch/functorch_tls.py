"""FuncTorchTLS: the operations that functorch forbids inside a transform (``FuncTorchTLS`` in
``aten/src/ATen/functorch/DynamicLayer.cpp``).

It loads nothing else, since autograd and ``dispatchviz.torch`` import it.
"""

from __future__ import annotations

from dispatchviz.core.thread.thread_state import thread

_INSTEAD = (
    "inside of a function being transformed by a functorch transform. This is unsupported, please attempt to use the "
    "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {} outside of a function being transformed "
    "instead."
)


def are_transforms_active() -> bool:
    """Return whether this thread is inside of a transform."""
    return bool(thread.state.dynamic_layers)


def check_supports_inplace_requires_grad() -> None:
    """Raise RuntimeError inside of a transform."""
    if are_transforms_active():
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) "
            + _INSTEAD.format("requires_grad_()")
        )


def check_supports_retain_grad() -> None:
    """Raise RuntimeError inside of a transform."""
    if are_transforms_active():
        raise RuntimeError("You are attempting to call Tensor.retain_grad() " + _INSTEAD.format("retain_grad()"))


def check_supports_backward() -> None:
    """Raise RuntimeError inside of a transform."""
    if are_transforms_active():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
