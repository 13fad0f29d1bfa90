"""DynamicLayer: the stack of transforms, and its front and back fallbacks
(``aten/src/ATen/functorch/DynamicLayer.cpp``).

Every ``vmap`` or ``grad`` that is running is a layer on this thread's stack. While there is one, the thread includes
the keys FuncTorchDynamicLayerFrontMode and FuncTorchDynamicLayerBackMode, and nothing else of the transforms. A call
then goes

    Front   the sets are saved in the top layer; its interpreter switches on just its own keys and calls again
    ...     the transform's kernel: a batch rule, for instance, which calls operators on physical tensors
    Back    the saved sets are put back, the layer is taken off the stack, and the operator is called again: into the
            next layer's Front, or, after the last layer, where it would have gone without any transform

and on the way out everything is put back.
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
        """The included and excluded sets that Front found, while its interpreter works."""

    @property
    def level(self) -> int:
        """From 1, the outermost."""
        return self.interpreter.level


def layers() -> list[DynamicLayer]:
    """This thread's stack, the top last."""
    return thread.state.dynamic_layers


def maybe_current_layer() -> DynamicLayer | None:
    """The top of the stack."""
    stack = layers()
    return stack[-1] if stack else None


def current_layer() -> DynamicLayer:
    """The top of the stack, where there must be one."""
    return layers()[-1]


# -- beginning and ending ----------------------------------------------------------------------------------------------


def init_and_push(interpreter_of: type[Interpreter], *args: Any) -> int:
    """``initAndPushDynamicLayer``: a transform begins. Its level."""
    level = 1 + len(layers())
    _push(DynamicLayer(interpreter_of(level, *args)), "begins")
    return level


def pop_and_delete() -> DynamicLayer:
    """``popDynamicLayerAndDeleteMetadata``: the transform is over."""
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
    """``temporarily_pop_interpreter_stack``: the transform on top steps aside, for what is not dispatched."""
    layer = _pop("lets the call go on")
    try:
        yield
    finally:
        _push(layer, "is back")


# -- between the layers ------------------------------------------------------------------------------------------------


class SaveLocalDispatchKeySet(ForceDispatchKeyGuard):
    """The sets as they are go into the top layer, and its interpreter's take their place (``processImpl``)."""

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
    """``dynamicLayerFrontFallback``: the call goes to the transform on top."""
    layer = current_layer()
    begin = len(stack) - len(op.schema.arguments)
    stack[begin:] = [unwrap_if_dead(value) for value in stack[begin:]]
    with SaveLocalDispatchKeySet(layer):
        layer.interpreter.process(op, stack)


def dynamic_layer_back_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """``dynamicLayerBackFallback``: the transform on top has done its part; the call goes on below it."""
    layer = current_layer()
    assert layer.saved is not None
    with ForceDispatchKeyGuard(*layer.saved):
        _pop("lets the call go on")
        try:
            layer.interpreter.send_to_next(op, stack)
        finally:
            _push(layer, "is back")
