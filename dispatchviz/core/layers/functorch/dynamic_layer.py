"""DynamicLayer: the stack of transforms, and its front and back fallbacks
(``aten/src/ATen/functorch/DynamicLayer.cpp``).

Every ``vmap`` or ``grad`` that is running is a layer on this thread's stack. While there is one, the thread-local
include set has the keys FuncTorchDynamicLayerFrontMode and FuncTorchDynamicLayerBackMode, and no other key of the
transforms. A call then goes through

    Front   saves the include and exclude sets in the top layer; its interpreter enables just its own keys and
            calls again
    ...     the transform's kernel: a batch rule, for instance, which calls operators on physical tensors
    Back    restores the saved sets, pops the layer, and calls the operator again: into the next layer's Front, or,
            after the last layer, where it would have gone without any transform

and on the way out everything is restored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.functorch.interpreter import Interpreter
from dispatchviz.core.layers.functorch.tensor_wrapper import unwrap_if_dead
from dispatchviz.core.seam import recorder
from dispatchviz.core.thread.guards import ForceDispatchKeyGuard
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.functorch_events import PopReason, PushReason
    from dispatchviz.core.table.operator_entry import OperatorEntry

_FRONT_AND_BACK = raw(DispatchKey.FuncTorchDynamicLayerFrontMode, DispatchKey.FuncTorchDynamicLayerBackMode)


class DynamicLayer:
    """A running transform."""

    __slots__ = ("interpreter", "saved")

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.saved: tuple[int, int] | None = None
        """The include and exclude sets that Front found, while its interpreter works."""

    @property
    def level(self) -> int:
        """The level, from 1, the outermost."""
        return self.interpreter.level


def layers() -> list[DynamicLayer]:
    """Return this thread's stack, the top last."""
    return thread.state.dynamic_layers


def maybe_current_layer() -> DynamicLayer | None:
    """Return the top of the stack; None if the stack is empty."""
    stack = layers()
    return stack[-1] if stack else None


def current_layer() -> DynamicLayer:
    """Return the top of the stack, which must not be empty."""
    return layers()[-1]


# -- beginning and ending ----------------------------------------------------------------------------------------------


def init_and_push(interpreter_of: type[Interpreter], *args: Any) -> int:
    """Begin a transform. Return its level (``initAndPushDynamicLayer``)."""
    level = 1 + len(layers())
    _push(DynamicLayer(interpreter_of(level, *args)), "begins")
    return level


def pop_and_delete() -> DynamicLayer:
    """End the transform on top (``popDynamicLayerAndDeleteMetadata``)."""
    layer = _pop("ends")
    layer.interpreter.life.alive = False
    return layer


def _push(layer: DynamicLayer, why: PushReason) -> None:
    stack = layers()
    stack.append(layer)
    if len(stack) == 1:
        thread.state.included |= _FRONT_AND_BACK
    if recorder.active is not None:
        recorder.active.dynamic_layer_pushed(layer.level, layer.interpreter.transform, why)


def _pop(why: PopReason) -> DynamicLayer:
    stack = layers()
    assert stack
    layer = stack.pop()
    if not stack:
        thread.state.included &= ~_FRONT_AND_BACK
    if recorder.active is not None:
        recorder.active.dynamic_layer_popped(layer.level, layer.interpreter.transform, why)
    return layer


@contextmanager
def temporarily_popped() -> Iterator[None]:
    """Pop the transform on top in the block, for calls that are not dispatched
    (``temporarily_pop_interpreter_stack``).
    """
    layer = _pop("passes the call on")
    try:
        yield
    finally:
        _push(layer, "is pushed again")


# -- between the layers ------------------------------------------------------------------------------------------------


class SaveLocalDispatchKeySet(ForceDispatchKeyGuard):
    """A guard that saves the include and exclude sets in the top layer and sets those of its interpreter
    (``processImpl``).
    """

    __slots__ = ("_layer",)

    def __init__(self, layer: DynamicLayer) -> None:
        self._layer = layer
        state = thread.state
        layer.saved = (state.included, state.excluded)
        super().__init__(*layer.interpreter.dispatch_keys(state.included, state.excluded))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._layer.saved = None
        super().__exit__(kind, error, at)


def dynamic_layer_front_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Pass the call to the transform on top (``dynamicLayerFrontFallback``)."""
    layer = current_layer()
    begin = len(stack) - len(op.schema.arguments)
    stack[begin:] = [unwrap_if_dead(value) for value in stack[begin:]]
    with SaveLocalDispatchKeySet(layer):
        layer.interpreter.process(op, stack)


def dynamic_layer_back_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Pass the call on below the transform on top, which has done its part (``dynamicLayerBackFallback``)."""
    layer = current_layer()
    assert layer.saved is not None
    with ForceDispatchKeyGuard(*layer.saved):
        _pop("passes the call on")
        try:
            layer.interpreter.send_to_next(op, stack)
        finally:
            _push(layer, "is pushed again")
