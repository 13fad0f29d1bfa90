"""Events of CUDA streams.

Streams are numbered: 0 is the default stream, the others count from 1. CUDA events are numbered from 1. Both are
numbered in a process, not in a recording.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import StreamEventNumber, StreamNumber, TensorNumber

EventPurpose = Literal["the program asks for it", "the gradient is ready", "the gradients of its leaves are ready"]
"""The meaning of a CUDA event as a mark in a stream."""

StreamUse = Literal["the program asks for it", "the Node that receives it runs there", "the sum runs there"]
"""The reason why a stream uses the memory of a tensor that another stream made."""


class StreamChanged(Event, frozen=True):
    """The thread's current stream of the CUDA device changed (``c10::cuda::setCurrentCUDAStream``)."""

    before: StreamNumber
    """Number of the stream that was current before."""
    stream: StreamNumber
    """Number of the stream that is current afterwards."""
    why: str
    """The code that changed it: ``torch.cuda.stream(s)``, ``the forward of MulBackward0 ran on it``, ``leaving ...``"""


class StreamEventRecorded(Event, frozen=True):
    """A CUDA event was recorded in a stream: it captures the work that the stream has at that time
    (``c10::Event::record``).
    """

    event: StreamEventNumber
    """Number of the CUDA event."""
    stream: StreamNumber
    """Number of the stream."""
    why: EventPurpose
    """The meaning of the mark. The engine's own are in ``torch/csrc/autograd/input_buffer.cpp``."""


class StreamWaited(Event, frozen=True):
    """Later work of a stream waits for a CUDA event. The caller does not block (``c10::Stream::wait``)."""

    stream: StreamNumber
    """Number of the stream that waits."""
    event: StreamEventNumber
    """Number of the CUDA event."""
    recorded_on: StreamNumber
    """Number of the stream in which the event was recorded."""
    why: str
    """The reason for the wait: ``the sum needs the new gradient``, ``MulBackward0 needs the gradient``..."""


class MemoryUsedOnStream(Event, frozen=True):
    """The allocator was notified that a stream uses a tensor's memory, so that the memory is not reused too early
    (``CUDACachingAllocator::recordStream``).
    """

    tensor: TensorNumber
    """Number of the tensor."""
    stream: StreamNumber
    """Number of the stream."""
    why: StreamUse
    """The reason for the use."""
