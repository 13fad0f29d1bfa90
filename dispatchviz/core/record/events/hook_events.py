"""Events of the user's hooks on gradients and on saved tensors."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import HookNumber, NodeNumber, OutputNumber, TensorNumber

HookKind = Literal["tensor pre hook", "retains-grad hook", "pre hook", "post hook", "post-accumulate hook"]
"""Kinds of hooks of the engine (``torch/csrc/autograd/function_hook.h``), registered by ``Tensor.register_hook``,
``Tensor.retain_grad``, ``Node.register_prehook``, ``Node.register_hook``,
``Tensor.register_post_accumulate_grad_hook``.
"""

BEFORE_NODE: tuple[HookKind, ...] = ("tensor pre hook", "retains-grad hook", "pre hook")
"""Kinds of hooks that run before their Node."""
BEHIND_NODE: tuple[HookKind, ...] = ("post hook", "post-accumulate hook")
"""Kinds of hooks that run after their Node has computed."""

SavedTensorHookKind = Literal["pack hook", "unpack hook"]
"""The two hooks of ``torch.autograd.graph.saved_tensors_hooks``."""


class SavedTensorHookRan(Event, frozen=True):
    """A saved-tensor hook was called (``torch/csrc/autograd/python_saved_variable_hooks.cpp``)."""

    kind: SavedTensorHookKind
    """The hook of the pair that was called."""
    function: str
    """Name of the hook."""
    tensor: TensorNumber
    """Number of the tensor that was packed, or that the unpack hook returned."""
    packed: str
    """Name of the type of the object that is kept instead of the tensor: ``tuple``."""
    node: NodeNumber | None = None
    """Number of the Node that keeps it. None if the tensor is packed as it is saved, before its ``VariableSaved``, or
    was saved before the recording began.
    """
    name: str = ""
    """Name of that Node's member, as in its ``VariableSaved``; empty if ``node`` is None."""


class HookRan(Event, frozen=True):
    """A hook was called."""

    kind: HookKind
    """Kind of the hook."""
    node: NodeNumber
    """Number of the Node before or after which it runs."""
    function: str
    """Name of the hook; ``retain_grad`` for a retains-grad hook."""
    replaced: bool
    """True if it returned other gradients."""
    kept: bool = False
    """True if a retains-grad hook has written the gradient to ``.grad``: there was one, and the tensor still exists."""
    gradients: tuple[TensorNumber | None, ...] = ()
    """Numbers of the gradients after it, if it returned others; else empty."""


class HookRegistered(Event, frozen=True):
    """A hook was added to a tensor or a Node (``torch/csrc/autograd/function_hook.h``)."""

    kind: HookKind
    """Kind of the hook."""
    function: str
    """Name of the hook; ``retain_grad`` for a retains-grad hook."""
    hook: HookNumber | None
    """Number of the hook; None for a retains-grad hook, since a Node has at most one per input."""
    node: NodeNumber | None
    """Number of the Node that keeps it; None for hooks of a leaf, which the leaf itself keeps."""
    tensor: TensorNumber | None
    """Number of the tensor on which it was registered; None for a Node's own hooks."""
    output_nr: OutputNumber
    """Index of the gradient that it gets, among those that the Node receives; 0 for hooks that get all of them."""
    moved: bool = False
    """True if it existed before: the tensor got another ``grad_fn``, and its retains-grad hook moved there."""


class HookRemoved(Event, frozen=True):
    """The ``remove`` of a hook's handle was called (``torch/utils/hooks.py``)."""

    hook: HookNumber
    """Number of the hook, as in its ``HookRegistered``."""
