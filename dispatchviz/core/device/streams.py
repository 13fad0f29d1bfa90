"""Streams and events of the CUDA device (``c10/cuda/CUDAStream.cpp``, ``c10/core/Event.h``).

A stream is a queue of a device. The work of one stream runs in order. The work of two streams runs in any order, unless
one waits for an event that the other has recorded. Each thread has a current stream, which is the default stream at
first.

With a GPU the streams are CuPy's.
NB: under emulation every kernel runs at once, so no stream ever waits. Recording and waiting are traced all the same.
"""

from __future__ import annotations

import itertools
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dispatchviz.core.device.array_library import array_module, cuda_state
from dispatchviz.core.device.device import CUDA, Device
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import Mode, process_modes

if TYPE_CHECKING:
    from dispatchviz.core.record.events.stream_events import EventPurpose, StreamUse

POOL = 32
"""The number of streams per priority. The 33rd request returns the first stream again."""
HIGHEST_PRIORITY, LOWEST_PRIORITY = -3, 0
"""PyTorch's own limits, which today's devices reach. A number beyond them is replaced by the nearest."""


class Stream:
    """A stream of cuda:0. ``number`` identifies it in traces: 0 is the default stream, the others count from 1."""

    __slots__ = ("_library_stream", "number", "priority", "stream_id")

    device: Device = CUDA

    def __init__(self, number: int, stream_id: int, priority: int) -> None:
        self.number = number
        self.stream_id = stream_id
        self.priority = priority
        self._library_stream: Any = None

    @property
    def library_stream(self) -> Any:
        """CuPy's stream, created on first use; None while CUDA is emulated."""
        if self._library_stream is None and cuda_state().real:
            cuda = array_module("cuda").cuda
            self._library_stream = cuda.Stream.null if self.number == 0 else cuda.Stream(non_blocking=True)
        return self._library_stream

    @property
    def handle(self) -> int:
        """The ``cudaStream_t``. NB: under emulation there is none, and this is the stream's id."""
        return self.stream_id if self.library_stream is None else int(self.library_stream.ptr)

    def query(self) -> bool:
        """Return whether all its work is done."""
        return self.library_stream is None or bool(self.library_stream.done)

    def synchronize(self) -> None:
        """Block until all its work is done."""
        if self.library_stream is not None:
            self.library_stream.synchronize()

    def wait(self, event: Event, why: str) -> None:
        """Make later work wait for ``event`` (``cudaStreamWaitEvent``). An event that was never recorded counts as
        complete.
        """
        if event.recorded_on is None:
            return
        if recorder.active is not None:
            recorder.active.stream_waited(self.number, event.number, event.recorded_on.number, why)
        if self.library_stream is not None:
            self.library_stream.wait_event(event.library_event)


class Event:
    """A CUDA event: a marker in a stream's work."""

    __slots__ = ("_library_event", "number", "recorded_on")

    recorded_on: Stream | None

    def __init__(self) -> None:
        self.number = next(_state.events)
        self.recorded_on = None
        self._library_event: Any = None

    @property
    def library_event(self) -> Any:
        """CuPy's event; None while CUDA is emulated."""
        if self._library_event is None and cuda_state().real:
            self._library_event = array_module("cuda").cuda.Event()
        return self._library_event

    def record(self, stream: Stream, why: EventPurpose) -> None:
        """Capture the work that ``stream`` has at this moment (``cudaEventRecord``)."""
        self.recorded_on = stream
        if recorder.active is not None:
            recorder.active.stream_event_recorded(self.number, stream.number, why)
        if self.library_event is not None:
            self.library_event.record(stream.library_stream)

    def query(self) -> bool:
        """Return whether the captured work is done."""
        return self._library_event is None or bool(self._library_event.done)

    def synchronize(self) -> None:
        """Block until the captured work is done."""
        if self._library_event is not None:
            self._library_event.synchronize()


DEFAULT = Stream(0, 0, 0)
"""The default stream, CUDA's legacy stream 0."""


class _State:
    """The stream pools and the event counter of a process."""

    def __init__(self) -> None:
        self.events = itertools.count(1)
        self.pools: dict[int, list[Stream]] = {}
        """The streams of the pool of each priority."""
        self.next: dict[int, int] = {}
        """The number of streams requested for each priority."""


class _Thread(threading.local):
    def __init__(self) -> None:
        self.current = DEFAULT


_state = _State()
_thread = _Thread()


def in_use() -> bool:
    """Return whether a stream other than the default stream exists."""
    return bool(process_modes.active & Mode.STREAMS)


def current() -> Stream:
    """The stream that gets this thread's work."""
    return _thread.current


def from_pool(priority: int) -> Stream:
    """Return the next stream of the pool. Each priority has 32 streams, which are reused in a cycle."""
    priority = max(HIGHEST_PRIORITY, min(LOWEST_PRIORITY, priority))
    process_modes.set(Mode.STREAMS, True)
    pool = _state.pools.setdefault(priority, [])
    requested = _state.next.get(priority, 0)
    _state.next[priority] = requested + 1
    if requested < POOL:
        pool.append(Stream(sum(map(len, _state.pools.values())) + 1, _stream_id(requested, priority), priority))
    return pool[requested % POOL]


def _stream_id(index: int, priority: int) -> int:
    """The ``StreamId``: index in the pool, StreamIdType (one per priority, from 1) and the bit of PyTorch's own
    streams.
    """
    return index << 5 | (1 - priority) << 1 | 1


def set_current(stream: Stream, why: str) -> None:
    """Make a stream the current one of this thread."""
    before = _thread.current
    if stream is before:
        return
    _thread.current = stream
    if recorder.active is not None:
        recorder.active.stream_changed(before.number, stream.number, why)
    if stream.library_stream is not None:
        stream.library_stream.use()


class StreamGuard:
    """A context manager that sets the current stream in its block (``c10/core/StreamGuard.h``). None changes
    nothing.
    """

    __slots__ = ("_before", "_stream", "_why")

    def __init__(self, stream: Stream | None, why: str) -> None:
        self._stream = stream
        self._why = why

    def __enter__(self) -> None:
        self._before = _thread.current
        if self._stream is not None:
            set_current(self._stream, self._why)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        set_current(self._before, f"leaving {self._why}")


def record_stream(tensor: Any, stream: Stream, why: StreamUse) -> None:
    """Delay the reuse of the tensor's memory, once freed, until ``stream`` has finished its current work
    (``Tensor.record_stream``).

    NB: CuPy's pools are per stream and keep no such list. The call is only recorded.
    """
    if recorder.active is not None:
        recorder.active.memory_used_on_stream(tensor, stream.number, why)


def exchange_state(state: tuple[Any, Stream] | None = None) -> tuple[Any, Stream]:
    """Replace the streams of the process, by a new state if ``state`` is None, and return the previous ones."""
    global _state
    before = _state, _thread.current
    _state, _thread.current = state or (_State(), DEFAULT)
    process_modes.set(Mode.STREAMS, bool(_state.pools))
    return before
