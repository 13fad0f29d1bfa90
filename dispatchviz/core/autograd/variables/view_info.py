"""Views: ``as_view``, ``rebase_history``, and the history of the base and its views.

This module mirrors ``torch/csrc/autograd/VariableTypeUtils.h`` and ``rebase_history`` of ``variable.cpp``. Reading the
history of a stale view is in ``variable.py``, the Node of a base that was written to through a view in
``copy_nodes.py``, the checks of in-place operations in ``variable_checks.py``.

Rule 1: a view's base is the root base, never a view itself.
Rule 2: writing through a view changes the history of the base. The view's own is rebuilt when it is next read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core.autograd.graph.copy_nodes import CopySlices
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.autograd.hooks.hooks import move_hooks_to_new_grad_fn
from dispatchviz.core.autograd.variables import creation_meta
from dispatchviz.core.autograd.variables.variable import (
    grad_fn,
    is_inference,
    requires_grad,
    set_gradient_edge,
    shallow_copy_and_detach,
)
from dispatchviz.core.autograd.variables.view_replay import (
    ReplayedViewMeta,
    ViewFunc,
    chained,
    reads_memory_differently,
    replayed,
)
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor, VersionCounter, ViewMeta
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.tensor_events import CreationMeta

_PYTHON = KEY_BITS[DispatchKey.Python]


def as_view(
    base: Tensor, tensor: Tensor, created: CreationMeta | None = None, refusal: str = "", forward: bool = True
) -> Tensor:
    """Make ``tensor``, a new result of a backend kernel, a differentiable view of ``base`` and return it.

    ``created`` is a creation meta; without it, inference and grad mode decide. ``refusal`` is the error of writing to
    the view (PyTorch's ErroringViewFunc). ``forward`` means that the tangents are views of each other too. Raise
    RuntimeError if both are one object, or if a handler made an inference tensor of a normal one. Views of inference
    tensors are inference tensors, for which nothing is stored.
    """
    if is_inference(base):
        tensor._version_counter = VersionCounter()  # not that of a detached base
        return tensor
    if base is tensor:
        raise RuntimeError(
            "View operation returned a tensor that is the same as the input base tensor.  This is no longer allowed; "
            "you must explicitly create a new tensor (e.g., using .detach()). As a user, you could have made a mistake "
            "implementing __torch_dispatch__ or a Python operator decomposition or meta registration; if that's not "
            "the case, please report a bug to PyTorch or the backend you are using."
        )
    if created is None:
        created = _mode()
    view_funcs: tuple[ViewFunc, ...] = ()
    if base._ks & _PYTHON:
        if _is_undefined(tensor):
            return tensor
        if is_inference(tensor):
            raise RuntimeError("Cannot set version_counter for inference tensor")
        view_funcs = replayed(tensor, base)
    elif isinstance(base._view, ReplayedViewMeta) or reads_memory_differently(tensor, base):
        view_funcs = chained(tensor, base)
    forward_base = base
    if base._view is not None:
        created = creation_meta.propagate(base._view.creation_meta, created)
        refusal = base._view.refusal or refusal
        forward_base = base if base._view.forward_base is None else base._view.forward_base
        base = base._view.base
    tensor._version_counter = base._version_counter
    if view_funcs:
        meta = tensor._view = ReplayedViewMeta(base, created, base._version_counter.value, refusal)
        meta.view_funcs = view_funcs
    else:
        tensor._view = ViewMeta(base, created, base._version_counter.value, refusal)
    if forward_base is not base or not forward:
        tensor._view.forward_base = forward_base if forward else None
    if recorder.active is not None:
        recorder.active.view_made(tensor, base, created)
    return tensor


def non_differentiable_view(base: Tensor, tensor: Tensor) -> Tensor:
    """Return another tensor that shares the version counter and is not a view for autograd
    (``make_variable_non_differentiable_view``). A result for an inference tensor is returned unchanged.
    """
    if is_inference(base):
        tensor._version_counter = VersionCounter()
        return tensor
    return shallow_copy_and_detach(tensor, base._version_counter)


def _is_undefined(result: object) -> bool:
    """Return whether a result is None. A handler may return it instead of a tensor, and in backward it is an undefined
    gradient.
    """
    return result is None


def _mode() -> CreationMeta:
    if thread.state.inference_mode:
        return creation_meta.INFERENCE_MODE
    return creation_meta.DEFAULT if thread.state.grad_mode else creation_meta.NO_GRAD_MODE


def several_views() -> CreationMeta:
    """The creation meta of several views of one operator. They must not be written to while their Node counts."""
    created = _mode()
    return creation_meta.MULTI_OUTPUT_NODE if created == creation_meta.DEFAULT else created


def rebase_history(tensor: Tensor, node: Node) -> None:
    """Make ``node`` the history of ``tensor`` after an in-place operation.

    Raise RuntimeError if the tensor is a view and the operation has several outputs.
    """
    rebase_history_at(tensor, node, node.add_input_metadata(tensor))


def rebase_history_at(tensor: Tensor, node: Node, output_nr: int) -> None:
    """Make output ``output_nr`` of a Node the history of ``tensor``. The Node has metadata for the tensor already."""
    if tensor._view is not None:
        _rebase_base(tensor, tensor._view.base, node)
        return
    old = tensor._grad_fn
    set_gradient_edge(tensor, node, output_nr)
    if recorder.active is not None:
        recorder.active.history_rebased(tensor, node, output_nr)
    move_hooks_to_new_grad_fn(tensor, old, node)


def _rebase_base(view: Tensor, base: Tensor, node: Node) -> None:
    """Make a CopySlices around ``node`` the base's history. Reading the view's history then rebuilds it."""
    if len(node.input_metadata) != 1:
        raise RuntimeError("Functions which modify views in-place must return a single Variable")
    view._output_nr = 0
    copy_slices = CopySlices(base, view, node)
    if requires_grad(view):  # otherwise no hook can have been registered
        move_hooks_to_new_grad_fn(base, base._grad_fn, copy_slices)
    set_gradient_edge(base, copy_slices, 0)
    if recorder.active is not None:
        recorder.active.history_rebased(base, copy_slices, 0)
    grad_fn(view)
