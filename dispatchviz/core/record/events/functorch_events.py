"""Events of functorch: the stack of transforms, and the tensors that a transform wraps.

The code is in ``aten/src/ATen/functorch``.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import Dimension, KeySet, Level, TensorNumber

Transform = Literal["Vmap", "Grad", "Jvp"]
"""Kinds of transforms (``TransformType`` in ``aten/src/ATen/functorch/Interpreter.h``)."""

PushReason = Literal["begins", "is pushed again"]
"""The reason why a transform is pushed onto the stack: it begins, or the call that continued below it has returned."""

PopReason = Literal["ends", "passes the call on"]
"""The reason why a transform is popped off the stack: it ends, or the call continues below it."""


class DynamicLayerPushed(Event, frozen=True):
    """A transform of functorch was pushed onto the thread's stack (``functorch/DynamicLayer.cpp``).

    The first one on the stack adds FuncTorchDynamicLayerFrontMode and FuncTorchDynamicLayerBackMode to the include set.
    """

    level: Level
    """Level of the transform: from 1, the outermost."""
    transform: Transform
    """Kind of the transform."""
    why: PushReason
    """The reason: the transform begins, or it is pushed again after a call was handled below it."""
    included: KeySet
    """The thread-local include set afterwards, as a 64-bit number."""


class DynamicLayerPopped(Event, frozen=True):
    """A transform was popped off the stack. The last one removes the keys of Front and Back from the include set."""

    level: Level
    """Level of the transform: from 1, the outermost."""
    transform: Transform
    """Kind of the transform."""
    why: PopReason
    """The reason: the transform ends, or a call is handled below it."""
    included: KeySet
    """The thread-local include set afterwards, as a 64-bit number."""


class TensorWrapperMade(Event, frozen=True):
    """A tensor was wrapped for a level of ``grad``, which keeps a history of its own (``TensorWrapper.cpp``)."""

    tensor: TensorNumber
    """Number of the wrapper."""
    value: TensorNumber
    """Number of the tensor that it wraps."""
    level: Level
    """Level of the ``grad``."""


class BatchedTensorMade(Event, frozen=True):
    """A tensor was wrapped so that one of its dimensions is hidden inside ``vmap`` (``BatchedTensorImpl.cpp``)."""

    tensor: TensorNumber
    """Number of the BatchedTensor."""
    value: TensorNumber
    """Number of the tensor that it wraps."""
    bdim: Dimension
    """Index of the dimension of ``value`` that is hidden, from 0."""
    level: Level
    """Level of the ``vmap`` that hides it."""
