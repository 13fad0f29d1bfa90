"""Events of CUDA streams.

A stream is given by its number: 0 is the default stream, the others count from 1. So is a CUDA event, from 1. They are
numbered in a process, not in a recording.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import StreamEventNumber, StreamNumber, TensorNumber

EventPurpose = Literal["the program says so", "the gradient is ready", "the gradients of its leaves are ready"]
"""What a CUDA event marks in a stream."""

StreamUse = Literal["the program says so", "the Node that receives it runs there", "the sum runs there"]
"""Why a stream uses the memory of a tensor that another stream made."""


class StreamChanged(Event, frozen=True):
    """Another stream of the CUDA device is the thread's current one (``c10::cuda::setCurrentCUDAStream``)."""

    before: StreamNumber
    """Number of the stream that was current until then."""
    stream: StreamNumber
    """Number of the stream that is current from here on."""
    why: str
    """What made it so: ``torch.cuda.stream(s)``, ``the forward of MulBackward0 ran on it``, ``leaving ...``"""


class StreamEventRecorded(Event, frozen=True):
    """A CUDA event was recorded in a stream: it captures the work that is there now (``c10::Event::record``)."""

    event: StreamEventNumber
    """Number of the CUDA event."""
    stream: StreamNumber
    """Number of the stream."""
    why: EventPurpose
    """What it marks; the engine's own are in ``torch/csrc/autograd/input_buffer.cpp``."""


class StreamWaited(Event, frozen=True):
    """Later work of a stream waits for a CUDA event; the caller does not block (``c10::Stream::wait``)."""

    stream: StreamNumber
    """Number of the stream that waits."""
    event: StreamEventNumber
    """Number of the CUDA event."""
    recorded_on: StreamNumber
    """Number of the stream that the event marks."""
    why: str
    """What needs the wait: ``the sum needs the new gradient``, ``MulBackward0 needs the gradient``..."""


class MemoryUsedOnStream(Event, frozen=True):
    """The allocator learns that a stream uses a tensor's memory, so that it is not reused before
    (``CUDACachingAllocator::recordStream``)."""

    tensor: TensorNumber
    """Number of the tensor."""
    stream: StreamNumber
    """Number of the stream."""
    why: StreamUse
    """What uses it there."""
