"""AutogradMeta of a tensor: ``requires_grad``, ``grad_fn``, gradient edge, accumulator, version
(``torch/csrc/autograd/variable.cpp``).

This module mirrors ``torch/csrc/autograd/variable.cpp`` and ``function.h``. The fields themselves are slots of
``Tensor``. Views and in-place operations are in ``view_info.py``, hooks on tensors in ``tensor_hooks.py``.

Rule 1: a tensor with a ``grad_fn`` is not a leaf; a view requires grad if its base does.
Rule 2: reading the ``grad_fn`` of a view may create a Node: if the storage was written to since the view's Node was
created, that Node is stale. Every access goes through ``grad_fn``.
Rule 3: a leaf holds its AccumulateGrad weakly; graphs hold it.
"""

from __future__ import annotations

import threading
import weakref
from copy import copy as shallow_copy
from functools import cache
from typing import TYPE_CHECKING, cast

from dispatchviz.core.autograd.graph.edge import EMPTY_EDGE, Edge
from dispatchviz.core.autograd.hooks.hooks import move_hooks_to_new_grad_fn
from dispatchviz.core.autograd.variables import creation_meta
from dispatchviz.core.autograd.variables.view_replay import ReplayedViewMeta, replay
from dispatchviz.core.keys.key_set import autograd_dispatch_keyset_with_ADInplaceOrView
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.python_side import torch_dispatch
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import process_modes
from dispatchviz.core.tensor.tensor import Size, Tensor, VersionCounter, ViewMeta
from dispatchviz.core.thread.guards import AutoGradMode
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.accumulate_grad import AccumulateGrad
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.record.events.graph_events import NoNodeReason

_PYTHON = KEY_BITS[DispatchKey.Python]
_FUNCTIONALIZE = KEY_BITS[DispatchKey.Functionalize]


# -- reading ----------------------------------------------------------------------------------------------------------


def requires_grad(tensor: Tensor) -> bool:
    """Return whether the tensor has the flag, a history, or a base that requires grad."""
    if tensor._requires_grad or tensor._grad_fn is not None:
        return True
    view = tensor._view
    return view is not None and requires_grad(view.base)


def grad_fn(tensor: Tensor) -> Node | None:
    """Return the Node that made the tensor, recreated if the tensor is a stale view.

    Raise RuntimeError if the view is stale and was created in a way that forbids that.
    """
    view = tensor._view
    if view is None or view.attr_version == tensor._version_counter.value:
        return tensor._grad_fn
    if tensor._grad_fn is None and not requires_grad(view.base):
        return None
    return _regenerate(tensor, view)


def is_leaf(tensor: Tensor) -> bool:
    """Return whether the tensor has no grad_fn. This may recreate a stale view's Node."""
    return grad_fn(tensor) is None


def is_inference(tensor: Tensor) -> bool:
    """Return whether the tensor was created in inference mode: it has no autograd keys and no version."""
    return not tensor._ks & autograd_dispatch_keyset_with_ADInplaceOrView


def gradient_edge(tensor: Tensor) -> Edge:
    """Return the edge to which the tensor's gradient goes: its grad_fn, or a leaf's AccumulateGrad; empty if there is
    neither.
    """
    function = tensor._grad_fn if tensor._view is None else grad_fn(tensor)
    if function is not None:
        return Edge(function, tensor._output_nr)
    if not tensor._requires_grad:
        return EMPTY_EDGE
    reference = tensor._accumulator
    return Edge((reference and reference()) or _new_accumulator(tensor), 0)


def grad_accumulator(tensor: Tensor) -> Node | None:
    """Return the AccumulateGrad of a leaf, created if no graph keeps one alive; None if the leaf does not require grad.

    Raise RuntimeError if the tensor is not a leaf.
    """
    if tensor._grad_fn is not None:
        raise RuntimeError("grad_accumulator() should be only called on leaf Variables")
    if not tensor._requires_grad:
        return None
    return try_get_grad_accumulator(tensor) or _new_accumulator(tensor)


def try_get_grad_accumulator(tensor: Tensor) -> Node | None:
    """Return the AccumulateGrad if one is alive."""
    reference = tensor._accumulator
    return None if reference is None else reference()


def reset_grad_accumulator(tensor: Tensor) -> None:
    """Forget the tensor's AccumulateGrad, since it has other memory. The next access creates a new one."""
    tensor._accumulator = None


@cache
def _accumulate_grad() -> type[AccumulateGrad]:
    """Return the class, imported late, since it needs this module."""
    from dispatchviz.core.autograd.graph.accumulate_grad import AccumulateGrad

    return AccumulateGrad


_making_accumulators = threading.RLock()


def _new_accumulator(leaf: Tensor) -> Node:
    """Return a new AccumulateGrad of a leaf that has none, or the one that another thread has just made."""
    if not process_modes.several_threads:
        return _made_accumulator(leaf)
    with _making_accumulators:  # two threads must not create one each, since two Nodes would not keep their sums apart
        return try_get_grad_accumulator(leaf) or _made_accumulator(leaf)


def _made_accumulator(leaf: Tensor) -> Node:
    accumulator = _accumulate_grad()(leaf)
    leaf._accumulator = weakref.ref(accumulator)
    if recorder.active is not None:
        recorder.active.accumulator_made(accumulator, leaf)
    return accumulator


# -- building the graph -----------------------------------------------------------------------------------------------


def compute_requires_grad(tensor: Tensor | None = None, other: Tensor | None = None, *more: Tensor | None) -> bool:
    """Return whether an operation on these tensors must be recorded: grad mode is on and one of them requires grad.

    The first two are parameters of their own, since a tuple for them would cost as much as the question.
    """
    if thread.state.grad_mode:
        if (tensor is not None and (tensor._requires_grad or tensor._grad_fn is not None)) or (
            other is not None and (other._requires_grad or other._grad_fn is not None)
        ):
            return True
        for each in (tensor, other, *more):
            if each is not None and requires_grad(each):
                return True
    if recorder.active is not None:
        why: NoNodeReason = "no input requires grad" if thread.state.grad_mode else "grad mode is off"
        recorder.active.note(("no_node_made", why))
    return False


def collect_next_edges(node: Node, *tensors: Tensor | None) -> None:
    """Give a new Node one edge per forward argument, in order; an argument without gradient gets an empty edge.

    The same loop finds the Node's topological number, as ``update_topological_nr`` would.
    """
    edges, number = [], 0
    for tensor in tensors:
        if tensor is None:
            edges.append(EMPTY_EDGE)
            continue
        if tensor._view is not None:
            edge = gradient_edge(tensor)
            target = edge.function
        elif (target := tensor._grad_fn) is not None:
            edge = Edge(target, tensor._output_nr)
        elif tensor._requires_grad:
            reference = tensor._accumulator
            target = (reference and reference()) or _new_accumulator(tensor)
            edge = Edge(target, 0)
        else:
            edge = EMPTY_EDGE
        edges.append(edge)
        if target is not None:
            target._has_parent = True
            if number <= target._topological_nr:
                number = target._topological_nr + 1
    node.set_collected_edges(edges, number, tensors)


def set_history(tensor: Tensor | None, node: Node) -> None:
    """Make ``node`` the grad_fn of a result.

    Raise RuntimeError if the result's dtype cannot require grad.
    """
    output_nr = node.add_input_metadata(tensor)
    if tensor is None:
        return
    if not tensor._dtype.can_require_grad:
        raise RuntimeError(f"Autograd not support dtype: {tensor._dtype.legacy}")
    tensor._grad_fn = node
    tensor._output_nr = output_nr
    if tensor._view is not None:
        tensor._view.attr_version = tensor._version_counter.value
    rec = recorder.active
    if rec is not None:
        rec.note(("history_set", tensor._number, node._number, output_nr))


def set_gradient_edge(tensor: Tensor, node: Node, output_nr: int) -> None:
    """Set the history. That of a view is then fresh."""
    tensor._grad_fn = node
    tensor._output_nr = output_nr
    if tensor._view is not None:
        tensor._view.attr_version = tensor._version_counter.value


def _regenerate(tensor: Tensor, view: ViewMeta) -> Node:
    """Give a stale view a new AsStridedBackward0, which leads to its base's current history, or the history of its
    operators.
    """
    from dispatchviz.core.autograd.graph.saved_variable import keep  # saved variables need this module,
    from dispatchviz.core.generated.nodes import AsStridedBackward0  # generated Nodes too

    if recorder.active is not None:
        recorder.active.entered_from_python()
    old = tensor._grad_fn
    if view.creation_meta != creation_meta.DEFAULT:
        name = None if old is None else old.forward_op_name()
        raise creation_meta.modified_view_error(view.creation_meta, tensor._output_nr, name, indirect=True)
    if view.refusal:
        raise RuntimeError(view.refusal)
    if isinstance(view, ReplayedViewMeta):
        return _replayed_history(tensor, view)
    node = AsStridedBackward0()
    base = view.base
    node.self_geometry = (base._size, base._stride, base._offset)
    node.size = keep(node, "size", tensor._size)
    node.stride = keep(node, "stride", tensor._stride)
    node.storage_offset = keep(node, "storage_offset", tensor._offset)
    collect_next_edges(node, base)
    node.add_input_metadata(tensor)
    set_gradient_edge(tensor, node, 0)
    move_hooks_to_new_grad_fn(tensor, old, node)
    if recorder.active is not None:
        recorder.active.history_rebased(tensor, node, 0)
    return node


def _replayed_history(tensor: Tensor, view: ReplayedViewMeta) -> Node:
    """Return the history of the replayed view."""
    with AutoGradMode(True, "replaying a view"):
        node = replay(view.view_funcs, view.base)._grad_fn
    assert node is not None, "the base has a history"
    old, tensor._grad_fn = tensor._grad_fn, node
    view.attr_version = tensor._version_counter.value
    move_hooks_to_new_grad_fn(tensor, old, node)
    if recorder.active is not None:
        recorder.active.history_rebased(tensor, node, 0)
    return node


def strides_or_error(tensor: Tensor) -> Size:
    """Return the strides that a Node saves of an input; empty for an input that does not require grad."""
    return tensor._stride if requires_grad(tensor) else ()


# -- versions and flags -----------------------------------------------------------------------------------------------


def increment_version(tensor: Tensor) -> None:
    """Increment the version, since an in-place or out= operation wrote to the tensor.

    Raise RuntimeError for an inference tensor outside of inference mode. The data has changed by then, as in PyTorch.
    """
    counter = tensor._version_counter
    if not tensor._ks & autograd_dispatch_keyset_with_ADInplaceOrView and type(counter) is VersionCounter:
        if thread.state.inference_mode:  # an inference tensor, without a call of is_inference
            return
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed."
            "You can make a clone to get a normal tensor before doing inplace update."
            "See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    counter.value += 1
    if recorder.active is not None:
        recorder.active.version_bumped(tensor, counter.value - 1)


def current_version(tensor: Tensor) -> int:
    """Return ``Tensor._version``. Raise RuntimeError for an inference tensor."""
    if is_inference(tensor) and type(tensor._version_counter) is VersionCounter:
        raise RuntimeError("Inference tensors do not track version counter.")
    return tensor._version_counter.value


def shallow_copy_and_detach(tensor: Tensor, version: VersionCounter) -> Tensor:
    """Return another tensor on the same memory and of the same geometry, without history.

    No operator is called, except that a dispatch mode or the tensor's class, if any, gets a call of ``aten::detach``.
    A mode does not see the copy of a functional tensor (``FunctionalTensorWrapper::shallow_copy_and_detach_core``).
    """
    if tensor._ks & _PYTHON or (thread.state.modes and not tensor._ks & _FUNCTIONALIZE):
        detached = torch_dispatch.detach(tensor)
        if detached is not None:
            detached._version_counter = version
            return cast(Tensor, detached)
    copy = Tensor(
        tensor._ks,
        tensor._array,
        tensor._storage,
        tensor._size,
        tensor._stride,
        tensor._offset,
        tensor._dtype,
        tensor._device,
    )
    copy._version_counter = version
    copy._wrapped_number = tensor._wrapped_number
    if tensor._impl is not None:
        copy._impl = shallow_copy(tensor._impl)
    return copy
