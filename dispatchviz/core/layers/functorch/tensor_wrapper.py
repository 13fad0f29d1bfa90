"""TensorWrapper: the wrapper of ``grad`` and ``jvp`` (``aten/src/ATen/functorch/TensorWrapper.cpp``).

A wrapper is dead after the end of its transform: then every call unwraps it.
``ad_interpreters.py`` creates the wrappers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from dispatchviz.core.call.dispatcher import call_boxed
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.tensor.tensor import Tensor

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import OperatorEntry

_GRAD_WRAPPER = KEY_BITS[DispatchKey.FuncTorchGradWrapper]


class LifeHandle:
    """A handle shared by a layer and the wrappers created in it."""

    __slots__ = ("alive",)

    def __init__(self) -> None:
        self.alive = True


class TensorWrapperImpl(Struct, eq=False):
    """The content of a wrapper."""

    value: Tensor
    level: int
    life: LifeHandle
    is_immutable: bool = False
    """True if it was not passed to the function but captured: the transform must not write to it."""


def maybe_get_tensor_wrapper(tensor: Tensor) -> TensorWrapperImpl | None:
    """Return the content of a wrapper of ``grad`` or ``jvp``; None for other tensors."""
    return cast(TensorWrapperImpl, tensor._impl) if tensor._ks & _GRAD_WRAPPER else None


def unwrap_if_dead(value: Any) -> Any:
    """Return the value of a dead wrapper, lists member by member, and anything else unchanged."""
    if isinstance(value, list):
        return [unwrap_if_dead(member) for member in value]
    if not isinstance(value, Tensor):
        return value
    wrapper = maybe_get_tensor_wrapper(value)
    return value if wrapper is None or wrapper.life.alive else wrapper.value


def dead_tensor_wrapper_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Unwrap dead wrappers. No transform runs, so all remaining wrappers are dead
    (``dead_tensor_wrapper_fallback``).
    """
    begin = len(stack) - len(op.schema.arguments)
    unwrapped = [unwrap_if_dead(value) for value in stack[begin:]]
    assert any(after is not before for after, before in zip(unwrapped, stack[begin:], strict=True))
    stack[begin:] = unwrapped
    call_boxed(op, stack)
