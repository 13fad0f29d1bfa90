"""GradInterpreter, JvpInterpreter: ``grad`` and ``jvp`` as layers of dispatch
(``aten/src/ATen/functorch/ADInterpreters.cpp``).

Each level has tensors of its own: a TensorWrapper around any tensor of the level below. The ordinary autograd kernels
run on the wrappers and give them their Nodes and tangents. They redispatch to Back, which removes the wrappers, so that
the level below starts again.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from dispatchviz.core.call.dispatcher import call_boxed
from dispatchviz.core.keys.key_set import autograd_dispatch_keyset_with_ADInplaceOrView
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.layers.functorch.batched_tensor import wrapper_keys
from dispatchviz.core.layers.functorch.interpreter import Interpreter
from dispatchviz.core.layers.functorch.loop_fallback import is_inplace
from dispatchviz.core.layers.functorch.tensor_wrapper import TensorWrapperImpl, maybe_get_tensor_wrapper
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Storage, Tensor
from dispatchviz.core.thread.guards import AutoFwGradMode, AutoGradMode
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import OperatorEntry

_GRAD_WRAPPER = KEY_BITS[DispatchKey.FuncTorchGradWrapper]


def make_tensor_wrapper(value: Tensor, interpreter: Interpreter, is_immutable: bool = False) -> Tensor:
    """Return a tensor of the interpreter's level (``makeTensorWrapper``). ``is_immutable`` means that it is captured,
    not an argument.
    """
    keys = wrapper_keys(value, _GRAD_WRAPPER)
    made = Tensor(keys, None, Storage(None), value._size, value._stride, value._offset, value._dtype, value._device)
    made._impl = TensorWrapperImpl(value, interpreter.level, interpreter.life, is_immutable)
    if recorder.active is not None:
        recorder.active.tensor_wrapper_made(made, value, interpreter.level)
    return made


def unwrap_for_grad(value: Any, level: int) -> Any:
    """Return the value of a wrapper of exactly this level, lists member by member, and anything else unchanged."""
    if isinstance(value, list):
        return [unwrap_for_grad(member, level) for member in value]
    wrapper = maybe_get_tensor_wrapper(value) if isinstance(value, Tensor) else None
    return value if wrapper is None or wrapper.level != level else wrapper.value


class ADInterpreter(Interpreter):
    """The common part of ``grad`` and ``jvp``."""

    __slots__ = ("prev_mode",)

    keys_for_entering = autograd_dispatch_keyset_with_ADInplaceOrView

    def __init__(self, level: int, prev_mode: bool) -> None:
        super().__init__(level)
        self.prev_mode = prev_mode
        """The transform's mode (grad mode or forward grad mode) outside of the transform. Levels below must not track
        more than that.
        """

    def mode_below(self) -> AbstractContextManager[None]:
        """Return a guard around the call below the transform."""
        raise NotImplementedError

    def process(self, op: OperatorEntry, stack: list[Any]) -> None:
        """Give every tensor a wrapper of this level and call the operator, so that autograd's kernels run."""
        begin = len(stack) - len(op.schema.arguments)
        self._check_for_invalid_mutation(op, stack[begin:])
        stack[begin:] = [self._materialized(value) for value in stack[begin:]]
        call_boxed(op, stack)

    def send_to_next(self, op: OperatorEntry, stack: list[Any]) -> None:
        """Call the operator without the wrappers, and wrap the results."""
        begin = len(stack) - len(op.schema.arguments)
        wrappers = [value for value in stack[begin:] if isinstance(value, Tensor)]
        stack[begin:] = unwrap_for_grad(stack[begin:], self.level)
        with nullcontext() if self.prev_mode else self.mode_below():
            call_boxed(op, stack)
        stack[begin:] = [self._wrapped(value) for value in stack[begin:]]
        for tensor in wrappers:
            _refresh_metadata(tensor)

    def lift(self, tensor: Tensor) -> Tensor:
        """Return a tensor as one of this level."""
        return self._materialized(tensor)  # type: ignore[no-any-return]

    def _materialized(self, value: Any) -> Any:
        """Return the value with every tensor wrapped at this level (``materializeGradWrappers``)."""
        if isinstance(value, list):
            return [self._materialized(member) for member in value]
        if not isinstance(value, Tensor):
            return value
        wrapper = maybe_get_tensor_wrapper(value)
        if wrapper is not None and wrapper.level == self.level:
            return value
        return make_tensor_wrapper(value, self, is_immutable=True)

    def _wrapped(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._wrapped(member) for member in value]
        return make_tensor_wrapper(value, self) if isinstance(value, Tensor) else value

    def _check_for_invalid_mutation(self, op: OperatorEntry, args: list[Any]) -> None:
        """Raise RuntimeError for writing to a tensor that is not of this level
        (``checkForInvalidMutationOnCaptures``).
        """
        if not is_inplace(op.schema):
            return
        wrapper = maybe_get_tensor_wrapper(args[0])
        if wrapper is None or wrapper.level != self.level or wrapper.is_immutable:
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                f"operation ({op.name}) that would mutate a captured Tensor. This is not supported; please rewrite the "
                "function being transformed to explicitly accept the mutated Tensor(s) as inputs."
            )


class GradInterpreter(ADInterpreter):
    """The interpreter of ``grad`` (``GradInterpreterPtr``)."""

    __slots__ = ()

    transform = "Grad"

    def mode_below(self) -> AbstractContextManager[None]:
        """Return a guard that disables grad mode."""
        return AutoGradMode(False, "grad mode outside of grad()")


class JvpInterpreter(ADInterpreter):
    """The interpreter of ``jvp`` (``JvpInterpreterPtr``)."""

    __slots__ = ()

    transform = "Jvp"

    def mode_below(self) -> AbstractContextManager[None]:
        """Return a guard that disables forward grad mode."""
        return AutoFwGradMode(False)


def _refresh_metadata(tensor: Tensor) -> None:
    """Copy the geometry of the value to its wrapper, since it may have changed."""
    wrapper = maybe_get_tensor_wrapper(tensor)
    if wrapper is not None:
        value = wrapper.value
        tensor._size, tensor._stride, tensor._offset = value._size, value._stride, value._offset


def prev_grad_mode() -> bool:
    """Return the thread's grad mode when a ``grad`` begins."""
    return thread.state.grad_mode


def prev_fwd_grad_mode() -> bool:
    """Return the thread's forward grad mode when a ``jvp`` begins."""
    return thread.state.fw_grad_mode
