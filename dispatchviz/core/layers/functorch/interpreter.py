"""Interpreters: the dispatch keys that a transform includes and excludes (``aten/src/ATen/functorch/Interpreter.cpp``).

Rule 1: between Front and Back, all keys except the transform's own (``keys_for_entering``) are excluded. There are two
exceptions, both PyTorch's: autocast keys, and FuncTorchVmapMode, which a vmap includes and no transform excludes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from dispatchviz.core.call.dispatcher import call_boxed
from dispatchviz.core.keys.key_set import autocast_dispatch_keyset, full_after, raw, remove, subtract
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.functorch.tensor_wrapper import LifeHandle

if TYPE_CHECKING:
    from dispatchviz.core.record.events.functorch_events import Transform
    from dispatchviz.core.table.operator_entry import OperatorEntry

K = DispatchKey


def _all_dynlayer_keyset() -> int:
    """All keys from Front down to Back, both included, except those that functorch never excludes."""
    between = subtract(full_after(K.FuncTorchDynamicLayerFrontMode), full_after(K.FuncTorchDynamicLayerBackMode))
    found = subtract(between | raw(K.FuncTorchDynamicLayerFrontMode), autocast_dispatch_keyset)
    return remove(found, K.FuncTorchVmapMode)


all_dynlayer_keyset = _all_dynlayer_keyset()


class Interpreter:
    """The base class: a transform at a level of the stack."""

    __slots__ = ("level", "life")

    transform: ClassVar[Transform]
    """The ``TransformType`` in PyTorch: ``Vmap``."""
    keys_for_entering: ClassVar[int]
    """The keys whose kernels do the transform's work."""
    also_included: ClassVar[int] = 0

    def __init__(self, level: int) -> None:
        self.level = level
        self.life = LifeHandle()
        """The handle that is dead when the transform is over. Wrappers that outlive the transform check it."""

    def dispatch_keys(self, included: int, excluded: int) -> tuple[int, int]:
        """Return the thread-local include and exclude sets while the transform works, from those before
        (``setup_dispatch_key_tls``).
        """
        others = subtract(remove(all_dynlayer_keyset, K.FuncTorchDynamicLayerBackMode), self.keys_for_entering)
        return included | self.also_included, subtract(excluded | others, self.keys_for_entering)

    def process(self, op: OperatorEntry, stack: list[Any]) -> None:
        """Run the transform's own part."""
        call_boxed(op, stack)

    def send_to_next(self, op: OperatorEntry, stack: list[Any]) -> None:
        """Run the part below the transform."""
        call_boxed(op, stack)


class VmapInterpreter(Interpreter):
    """The interpreter of ``vmap`` (``VmapInterpreterPtr``)."""

    __slots__ = ("batch_size", "randomness")

    transform = "Vmap"
    keys_for_entering = raw(K.FuncTorchBatched, K.BatchedNestedTensor)
    also_included = raw(K.FuncTorchVmapMode)

    def __init__(self, level: int, batch_size: int, randomness: str) -> None:
        super().__init__(level)
        self.batch_size = batch_size
        self.randomness = randomness
        """The permission for random operators: ``error``, ``same`` or ``different``."""
