"""Events of gradients between Nodes: reduced, summed in an input buffer, accumulated in ``.grad``, captured."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import NodeNumber, OutputNumber, Position, Size, TensorNumber

BufferReason = Literal[
    "it is the first gradient for this input",
    "grad mode is off and only the buffer holds the earlier gradient",
    "grad mode is on: the sum may need a history",
    "a dispatch mode or a Tensor subclass is involved: the sum must not be in place",
    "the earlier gradient is a zero tensor, which has no memory",
    "the earlier gradient has another reference",
    "elements of the earlier gradient share memory",
]
"""The reason why a gradient is stored, added in place, or (the last five) added out of place."""

BufferMethod = Literal["stored", "added in place", "added out of place"]
"""The action of an input buffer on a gradient (``InputBuffer::add``)."""

AccumulationMethod = Literal["stolen", "copied", "added in place", "added out of place"]
"""The way in which ``.grad`` gets a gradient (``AccumulateGrad::accumulateGrad``). Stolen: it becomes ``.grad`` without
a copy.
"""


class GradientReduced(Event, frozen=True):
    """``validate_outputs`` summed a broadcast gradient to its input's shape."""

    before: TensorNumber
    """Tensor number of the gradient that the Node returned."""
    after: TensorNumber
    """Tensor number of the sum."""
    shape: tuple[Size, ...]
    """Sizes of the sum: those of the forward input."""


class GradientBuffered(Event, frozen=True):
    """A gradient went into an input buffer (``torch/csrc/autograd/input_buffer.cpp``)."""

    node: NodeNumber
    """Number of the Node to which the buffer belongs."""
    input_nr: OutputNumber
    """Index in the buffer, from 0, which is the index of the Node's input."""
    tensor: TensorNumber
    """Tensor number of the gradient."""
    how: BufferMethod
    """The action: the gradient is the first one for this input and stored, or it was added to the existing one."""
    why: BufferReason
    """The reason."""


class GradientAccumulated(Event, frozen=True):
    """A leaf's ``.grad`` was written (``torch/csrc/autograd/functions/accumulate_grad.h``)."""

    tensor: TensorNumber
    """Number of the leaf."""
    gradient: TensorNumber
    """Tensor number of the gradient that arrived."""
    result: TensorNumber
    """Tensor number of ``.grad`` afterwards."""
    how: AccumulationMethod
    """The action. Without a ``.grad``, the gradient became it, by stealing or copying; otherwise it was added to
    ``.grad``.
    """
    why: str
    """The reason: ``.grad exists and grad mode is off: it stays the same tensor``. It names the strides if they
    decide.
    """


class GradientCaptured(Event, frozen=True):
    """``grad()`` captured a gradient from an input buffer for the caller (``GraphTask::captured_vars_``)."""

    node: NodeNumber
    """Number of the Node to which the buffer belongs."""
    input_nr: OutputNumber
    """Index in the buffer, from 0, which is the index of the Node's input."""
    tensor: TensorNumber | None
    """Tensor number of the gradient; None if undefined."""
    position: Position
    """Index in the result of ``grad``, from 0."""
