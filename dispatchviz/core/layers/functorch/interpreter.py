"""Interpreters: the dispatch keys that a transform includes and excludes (``aten/src/ATen/functorch/Interpreter.cpp``).

Rule 1: between Front and Back, everything is excluded but the transform's own keys (``keys_for_entering``). Two
exceptions, both PyTorch's: autocast keys, and FuncTorchVmapMode, which a vmap includes and nobody excludes.
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
    """All keys from Front down to Back, both included, but for those that functorch leaves alone."""
    between = subtract(full_after(K.FuncTorchDynamicLayerFrontMode), full_after(K.FuncTorchDynamicLayerBackMode))
    found = subtract(between | raw(K.FuncTorchDynamicLayerFrontMode), autocast_dispatch_keyset)
    return remove(found, K.FuncTorchVmapMode)


all_dynlayer_keyset = _all_dynlayer_keyset()


class Interpreter:
    """Base: a transform at a level of the stack."""

    __slots__ = ("level", "life")

    transform: ClassVar[Transform]
    """``TransformType`` in PyTorch: ``Vmap``."""
    keys_for_entering: ClassVar[int]
    """The keys that do the transform's work."""
    also_included: ClassVar[int] = 0

    def __init__(self, level: int) -> None:
        self.level = level
        self.life = LifeHandle()
        """Dead when the transform is over; wrappers that outlive it ask."""

    def dispatch_keys(self, included: int, excluded: int) -> tuple[int, int]:
        """``setup_dispatch_key_tls``: the thread's sets while the transform works, from those before."""
        others = subtract(remove(all_dynlayer_keyset, K.FuncTorchDynamicLayerBackMode), self.keys_for_entering)
        return included | self.also_included, subtract(excluded | others, self.keys_for_entering)

    def process(self, op: OperatorEntry, stack: list[Any]) -> None:
        """The transform's own part."""
        call_boxed(op, stack)

    def send_to_next(self, op: OperatorEntry, stack: list[Any]) -> None:
        """What is below the transform."""
        call_boxed(op, stack)


class VmapInterpreter(Interpreter):
    """``VmapInterpreterPtr``"""

    __slots__ = ("batch_size", "randomness")

    transform = "Vmap"
    keys_for_entering = raw(K.FuncTorchBatched, K.BatchedNestedTensor)
    also_included = raw(K.FuncTorchVmapMode)

    def __init__(self, level: int, batch_size: int, randomness: str) -> None:
        super().__init__(level)
        self.batch_size = batch_size
        self.randomness = randomness
        """``error``, ``same`` or ``different``: what random operators may do."""
