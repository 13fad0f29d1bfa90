"""``Tensor.register_hook``, ``register_post_accumulate_grad_hook``, ``retain_grad``.

Mirrors ``torch/_tensor.py`` and ``VariableHooks::retain_grad`` in ``torch/csrc/autograd/variable.cpp``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

from dispatchviz.core.autograd.hooks.hooks import (
    Hook,
    HookDict,
    RemovableHandle,
    TensorHooks,
    TensorPreHook,
    registered,
)
from dispatchviz.core.autograd.variables.variable import grad_fn, is_leaf, requires_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.functorch_tls import check_supports_retain_grad
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor

_NO_GRADIENT = "cannot register a hook on a tensor that doesn't require gradient"


def register_hook(tensor: Tensor, hook: Hook) -> RemovableHandle:
    """Register ``hook(grad)``, which runs when the gradient of ``tensor`` is complete and may return another.

    Raise RuntimeError if the tensor does not require grad.
    """
    if not requires_grad(tensor):
        raise RuntimeError(_NO_GRADIENT)
    hooks, node = _hooks_of(tensor), tensor._grad_fn  # a stale view that has hooks already keeps its previous Node
    if hooks.backward is None:
        node = grad_fn(tensor)
        hooks.backward = HookDict()
        if node is not None:
            node.own_hooks().tensor_pre.append(TensorPreHook(hooks.backward, tensor._output_nr))
    return registered("tensor pre hook", RemovableHandle(hooks.backward, hook), hook, node, tensor)


def register_post_accumulate_grad_hook(tensor: Tensor, hook: Hook) -> RemovableHandle:
    """Register ``hook(leaf)``, which runs after ``leaf.grad`` was updated. Raise RuntimeError for anything but a leaf
    that requires grad.
    """
    if not requires_grad(tensor):
        raise RuntimeError(_NO_GRADIENT)
    if not is_leaf(tensor):
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hooks = _hooks_of(tensor)
    if hooks.post_accumulate is None:
        hooks.post_accumulate = HookDict()
    handle = RemovableHandle(hooks.post_accumulate, hook)
    return registered("post-accumulate hook", handle, hook, None, tensor)


def retain_grad(tensor: Tensor) -> None:
    """Set the ``.grad`` of a tensor that is not a leaf during backward. Do nothing for a leaf.

    Raise RuntimeError if the tensor does not require grad.
    """
    if not requires_grad(tensor):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    check_supports_retain_grad()
    if tensor._retains_grad or (node := grad_fn(tensor)) is None:
        return  # if the tensor retains already, its Node is not read: that of a stale view might be refused
    node.own_hooks().retains_grad[tensor._output_nr] = _retaining(weakref.ref(tensor))
    tensor._retains_grad = True
    if recorder.active is not None:
        recorder.active.hook_registered("retains-grad hook", "retain_grad", None, node, tensor)


def _retaining(reference: weakref.ref[Tensor]) -> Callable[[Tensor], bool]:
    """Return a hook that writes a gradient to ``.grad`` if the tensor still exists, and returns whether it did."""

    def retain(gradient: Tensor) -> bool:
        tensor = reference()
        if tensor is None:
            return False
        if tensor._grad is None:
            tensor._grad = ops.clone.call(gradient, "contiguous_format")
        else:
            tensor._grad = ops.add_Tensor.call(tensor._grad, gradient, 1)
        if recorder.active is not None:
            recorder.active.grad_set(tensor, retained=True)
        return True

    return retain


def _hooks_of(tensor: Tensor) -> TensorHooks:
    if tensor._hooks is None:
        tensor._hooks = TensorHooks()
    return tensor._hooks
