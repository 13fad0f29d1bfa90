"""Saved-tensor hooks: pack and unpack functions, default hooks, ``saved_tensors_hooks``.

This module mirrors ``aten/src/ATen/SavedTensorHooks.cpp``, ``torch/csrc/autograd/python_saved_variable_hooks.cpp`` and
the parts of ``saved_variable.cpp`` that handle hooks. Not here: ``torch.autograd.graph.saved_tensors_hooks``, which
only pushes and pops.

Rule 1: every thread has a stack of default hooks. The innermost pair packs a tensor as it is saved, under no_grad,
except for wrapped numbers. ``register_hooks`` packs a tensor that is saved already.
Rule 2: a packed tensor has no version to compare. Unpacking gives it the history, or the accumulator, that the saved
tensor had.
Rule 3: hooks cost nothing unless they are used. A SavedVariable becomes a PackedVariable when it gets hooks, and
SavedVariables check for default hooks only while some thread has pushed any.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dispatchviz.core.autograd.forward_mode.forward_ad import restore_tangent, saved_tangent
from dispatchviz.core.autograd.graph.saved_variable import DETACHED, ERR_BACKWARD_TWICE, SavedVariable
from dispatchviz.core.autograd.hooks.hooks import recorded_name
from dispatchviz.core.autograd.variables.variable import (
    grad_accumulator,
    grad_fn,
    requires_grad,
    shallow_copy_and_detach,
)
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes
from dispatchviz.core.tensor.tensor import Tensor, VersionCounter
from dispatchviz.core.thread.guards import AutoGradMode
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.forward_mode.forward_grad import ForwardGrad
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.record.events.hook_events import SavedTensorHookKind

_PACK_HOOK_MODIFIED_INPUT = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
    "perform in-place operations on the input to a pack hook."
)
_ALREADY_SET = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
    "allowed at a time."
)
_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
    "the graph a second time or if you need to access saved variables after calling backward."
)
_EMPTY_STACK = (
    'is_initialized && !tls.stack.empty() INTERNAL ASSERT FAILED at "aten/src/ATen/SavedTensorHooks.cpp":69, please '
    "report a bug to PyTorch. "
)

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]


class Hooks(NamedTuple):
    """A pair of pack and unpack hooks."""

    pack: Pack
    unpack: Unpack


# -- default hooks ----------------------------------------------------------------------------------------------------


def push_default_hooks(pack: Pack, unpack: Unpack) -> None:
    """Pack this thread's saved tensors with these hooks. Raise RuntimeError if that is disabled."""
    check_enabled()
    pair = Hooks(pack, unpack)
    state = thread.state
    process_modes.enter(Mode.SAVED_TENSOR_HOOKS)  # first: after an exception from outside it is on, never off
    state.saved_tensors_hooks = (*state.saved_tensors_hooks, pair)


def pop_default_hooks() -> None:
    """Remove the innermost pair. Raise RuntimeError if there is none."""
    state = thread.state
    pairs = state.saved_tensors_hooks
    if not pairs:
        raise RuntimeError(_EMPTY_STACK)
    state.saved_tensors_hooks = pairs[:-1]
    try:
        process_modes.leave(Mode.SAVED_TENSOR_HOOKS)
    except BaseException:  # an exception from outside: nothing was popped
        state.saved_tensors_hooks = pairs
        raise


def top_default_hooks() -> Hooks | None:
    """The innermost pair of this thread."""
    stack = thread.state.saved_tensors_hooks
    return stack[-1] if stack else None


def check_enabled() -> None:
    """Raise RuntimeError with the text that was passed to ``disable``, if it was called."""
    message = thread.state.saved_tensors_hooks_disabled
    if message is not None:
        raise RuntimeError(message)


def disable(message: str, fail_if_non_empty: bool = True) -> None:
    """Make pushing raise this message. Raise it at once if there are hooks already."""
    thread.state.saved_tensors_hooks_disabled = message
    if fail_if_non_empty and thread.state.saved_tensors_hooks:
        raise RuntimeError(message)


def enable() -> None:
    """Allow pushing again."""
    thread.state.saved_tensors_hooks_disabled = None


_init = SavedVariable.__init__


def _init_packing(
    self: SavedVariable, variable: Tensor | None, is_output: bool = False, is_inplace_on_view: bool = False
) -> None:
    hooks = top_default_hooks()
    if hooks is None or variable is None or variable._wrapped_number:
        _init(self, variable, is_output, is_inplace_on_view)
        return
    _init(self, variable, False, is_inplace_on_view)  # a packed tensor needs no alias
    self._original = False
    self._output_nr = variable._output_nr
    _packed(self)._pack(hooks, variable, is_output)


process_modes.hot_function(SavedVariable, "__init__", {NO_MODE: _init, Mode.SAVED_TENSOR_HOOKS: _init_packing})

# -- a saved variable with hooks --------------------------------------------------------------------------------------


class PackedVariable(SavedVariable):
    """A SavedVariable with hooks."""

    __slots__ = ()

    def _pack(self, hooks: Hooks, tensor: Tensor, is_output: bool) -> None:
        """Store the facts for unpacking, and let the hook pack. Raise RuntimeError if the hook writes to the tensor."""
        self._data = None
        self._packed = packed = Packed(hooks)
        if self._is_leaf:
            node = grad_accumulator(tensor) if requires_grad(tensor) else None
            packed.accumulator = None if node is None else weakref.ref(node)
            packed.requires_grad = requires_grad(tensor)
        elif not is_output:
            packed.grad_fn = grad_fn(tensor)
        packed.fw_grad = saved_tangent(tensor)
        version = tensor._version_counter.value
        with AutoGradMode(False, "a pack hook"):
            original = ops.detach.call(tensor) if self._original else tensor
            packed.data = hooks.pack(original)
        _record_hook("pack hook", hooks.pack, self, original, packed.data)
        if tensor._version_counter.value != version:
            raise RuntimeError(_PACK_HOOK_MODIFIED_INPUT)

    def unpack(self, saved_for: Node | None = None) -> Tensor | None:
        """Return the tensor that the hook returns, with its history.

        Raise RuntimeError if it was released or has lost its history, TypeError if the hook does not return a tensor.
        """
        packed = self._packed
        if packed is None:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        node = packed.grad_fn if self._grad_fn is None else self._grad_fn()
        if node is None and not self._is_leaf:
            if saved_for is None:
                raise RuntimeError(DETACHED)
            node = saved_for
        data = packed.hooks.unpack(packed.data)
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(data).__name__}"
            )
        _record_hook("unpack hook", packed.hooks.unpack, self, data, packed.data)
        if node is None and not packed.requires_grad and not requires_grad(data) and packed.tangent() is None:
            return data
        return self._restored(packed, data, node)

    def _restored(self, packed: Packed, data: Tensor, node: Node | None) -> Tensor:
        variable = shallow_copy_and_detach(data, VersionCounter())
        variable._version_counter = data._version_counter
        if node is not None:
            variable._grad_fn = node
            variable._output_nr = self._output_nr
        else:
            variable._requires_grad = packed.requires_grad
            variable._accumulator = packed.accumulator
        if recorder.active is not None and variable._number < 0:  # it did not come from a handler
            recorder.active.tensor_created(variable)
        restore_tangent(variable, packed.fw_grad)
        return variable

    def reset_data(self) -> None:
        self._packed = None

    @property
    def data(self) -> Any:
        """The object that the hook returned."""
        return None if self._packed is None else self._packed.data

    @property
    def unpack_hook(self) -> Unpack | None:
        """The unpack hook; None after release."""
        return None if self._packed is None else self._packed.hooks.unpack


class Packed:
    """The packed object of a pack hook, and the facts that are needed to unpack the saved tensor."""

    __slots__ = ("accumulator", "data", "fw_grad", "grad_fn", "hooks", "requires_grad")

    accumulator: weakref.ref[Node] | None
    """The accumulator of a leaf that requires grad."""
    grad_fn: Node | None
    """The history of an input that is not a leaf. That of an output is the Node that saves it."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.data: Any = None
        self.accumulator = None
        self.grad_fn = None
        self.requires_grad = False
        self.fw_grad: ForwardGrad | None = None

    def tangent(self) -> Tensor | None:
        """Return the tangent of the saved tensor, while its dual level is open."""
        return None if self.fw_grad is None else self.fw_grad.value(0)


def _record_hook(
    kind: SavedTensorHookKind, hook: Pack | Unpack, saved: SavedVariable, tensor: Tensor, packed: Any
) -> None:
    if recorder.active is not None:
        recorder.active.saved_tensor_hook_ran(kind, recorded_name(hook), saved, tensor, type(packed).__name__)


def _packed(saved: SavedVariable) -> PackedVariable:
    saved.__class__ = PackedVariable
    assert isinstance(saved, PackedVariable)
    return saved


def register_hooks(saved: SavedVariable, pack: Pack, unpack: Unpack) -> None:
    """Pack a tensor that a Node has saved already. Raise RuntimeError if there is nothing to pack, or it was packed
    before.
    """
    if isinstance(saved, PackedVariable) and saved._packed is not None:
        raise RuntimeError(_ALREADY_SET)
    data = saved._data
    if data is None:
        if saved._is_undefined:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        raise RuntimeError(_FREED)
    if saved._original:
        saved._output_nr = data._output_nr
    _packed(saved)._pack(Hooks(pack, unpack), data, is_output=not saved._original)
