"""Events of functorch: the stack of transforms, and the tensors that a transform wraps.

``aten/src/ATen/functorch``.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import Dimension, KeySet, Level, TensorNumber

Transform = Literal["Vmap", "Grad", "Jvp"]
"""Kinds of transforms (``TransformType`` in ``aten/src/ATen/functorch/Interpreter.h``)."""

PushReason = Literal["begins", "is back"]
"""Why a transform is put on the stack: it begins; the call that went on below it has returned."""

PopReason = Literal["ends", "lets the call go on"]
"""Why a transform leaves the stack: it ends; while the call goes on below it."""


class DynamicLayerPushed(Event, frozen=True):
    """A transform of functorch is on top of the thread's stack from here on (``functorch/DynamicLayer.cpp``).

    The first one on the stack includes FuncTorchDynamicLayerFrontMode and FuncTorchDynamicLayerBackMode.
    """

    level: Level
    """Level of the transform: from 1, the outermost."""
    transform: Transform
    """Kind of the transform."""
    why: PushReason
    """The transform begins, or it is pushed again after a call was handled below it."""
    included: KeySet
    """The thread's included key set from here on, as a 64-bit number."""


class DynamicLayerPopped(Event, frozen=True):
    """A transform was popped off the stack; the last one removes the keys of Front and Back from the included set."""

    level: Level
    """Level of the transform: from 1, the outermost."""
    transform: Transform
    """Kind of the transform."""
    why: PopReason
    """The transform ends, or a call is handled below it."""
    included: KeySet
    """The thread's included key set from here on, as a 64-bit number."""


class TensorWrapperMade(Event, frozen=True):
    """A tensor was wrapped for a level of ``grad``, which keeps a history of its own (``TensorWrapper.cpp``)."""

    tensor: TensorNumber
    """Number of the wrapper."""
    value: TensorNumber
    """Number of the tensor that it wraps."""
    level: Level
    """Level of the ``grad``."""


class BatchedTensorMade(Event, frozen=True):
    """A tensor was wrapped so that one of its dimensions is hidden: inside ``vmap`` (``BatchedTensorImpl.cpp``)."""

    tensor: TensorNumber
    """Number of the BatchedTensor."""
    value: TensorNumber
    """Number of the tensor that it wraps."""
    bdim: Dimension
    """Index of the dimension of ``value`` that is hidden, from 0."""
    level: Level
    """Level of the ``vmap`` that hides it."""
