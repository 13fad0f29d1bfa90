"""Streams and events of the CUDA device (``c10/cuda/CUDAStream.cpp``, ``c10/core/Event.h``).

A stream is a queue of a device: what is put into one runs in order, what is in two runs in any order unless one waits
for an event that the other has recorded. Each thread has a current stream, the default stream at first.

With a GPU the streams are CuPy's. NB: emulated, every kernel runs at once, so nothing is ever waited for; who records
and who waits is recorded all the same.
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
"""Streams per priority: the 33rd that is requested is the first one again."""
HIGHEST_PRIORITY, LOWEST_PRIORITY = -3, 0
"""PyTorch's own limit, which today's devices reach; a number beyond is taken as the nearest."""


class Stream:
    """A stream of cuda:0. ``number`` is its identifier in traces: 0 is the default stream, the others count from 1."""

    __slots__ = ("_library_stream", "number", "priority", "stream_id")

    device: Device = CUDA

    def __init__(self, number: int, stream_id: int, priority: int) -> None:
        self.number = number
        self.stream_id = stream_id
        self.priority = priority
        self._library_stream: Any = None

    @property
    def library_stream(self) -> Any:
        """CuPy's stream, made when it is first needed; None while CUDA is emulated."""
        if self._library_stream is None and cuda_state().real:
            cuda = array_module("cuda").cuda
            self._library_stream = cuda.Stream.null if self.number == 0 else cuda.Stream(non_blocking=True)
        return self._library_stream

    @property
    def handle(self) -> int:
        """``cudaStream_t``. NB: emulated, there is none: the stream's id."""
        return self.stream_id if self.library_stream is None else int(self.library_stream.ptr)

    def query(self) -> bool:
        """Everything in it is done."""
        return self.library_stream is None or bool(self.library_stream.done)

    def synchronize(self) -> None:
        """Block until everything in it is done."""
        if self.library_stream is not None:
            self.library_stream.synchronize()

    def wait(self, event: Event, why: str) -> None:
        """``cudaStreamWaitEvent``: later work waits for ``event``; one that was never recorded is complete."""
        if event.recorded_on is None:
            return
        if recorder.active is not None:
            recorder.active.stream_waited(self.number, event.number, event.recorded_on.number, why)
        if self.library_stream is not None:
            self.library_stream.wait_event(event.library_event)


class Event:
    """A CUDA event: a mark in a stream's work."""

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
        """``cudaEventRecord``: captures the work that ``stream`` has now."""
        self.recorded_on = stream
        if recorder.active is not None:
            recorder.active.stream_event_recorded(self.number, stream.number, why)
        if self.library_event is not None:
            self.library_event.record(stream.library_stream)

    def query(self) -> bool:
        """What it marks is done."""
        return self._library_event is None or bool(self._library_event.done)

    def synchronize(self) -> None:
        """Block until what it marks is done."""
        if self._library_event is not None:
            self._library_event.synchronize()


DEFAULT = Stream(0, 0, 0)
"""The default stream, CUDA's legacy stream 0."""


class _State:
    """The stream pools and the event counter of a process."""

    def __init__(self) -> None:
        self.events = itertools.count(1)
        self.pools: dict[int, list[Stream]] = {}
        """Per priority, the streams of its pool."""
        self.next: dict[int, int] = {}
        """Per priority, how many were requested."""


class _Thread(threading.local):
    def __init__(self) -> None:
        self.current = DEFAULT


_state = _State()
_thread = _Thread()


def in_use() -> bool:
    """Return whether a stream besides the default stream exists."""
    return bool(process_modes.active & Mode.STREAMS)


def current() -> Stream:
    """The stream into which this thread puts its work."""
    return _thread.current


def from_pool(priority: int) -> Stream:
    """The next stream of the pool: 32 per priority, in turn."""
    priority = max(HIGHEST_PRIORITY, min(LOWEST_PRIORITY, priority))
    process_modes.set(Mode.STREAMS, True)
    pool = _state.pools.setdefault(priority, [])
    requested = _state.next.get(priority, 0)
    _state.next[priority] = requested + 1
    if requested < POOL:
        pool.append(Stream(sum(map(len, _state.pools.values())) + 1, _stream_id(requested, priority), priority))
    return pool[requested % POOL]


def _stream_id(index: int, priority: int) -> int:
    """``StreamId``: index in the pool, StreamIdType (one per priority, from 1) and the bit of PyTorch's own streams."""
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
    """Another current stream inside the block (``c10/core/StreamGuard.h``); None changes nothing."""

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
    """``Tensor.record_stream``: once freed, the memory is reused only when ``stream`` has finished what it has now.

    NB: CuPy's pools are per stream and keep no such list; the call is only recorded.
    """
    if recorder.active is not None:
        recorder.active.memory_used_on_stream(tensor, stream.number, why)


def exchange_state(state: tuple[Any, Stream] | None = None) -> tuple[Any, Stream]:
    """Replace the streams of the process, by none without ``state``; return the previous ones."""
    global _state
    before = _state, _thread.current
    _state, _thread.current = state or (_State(), DEFAULT)
    process_modes.set(Mode.STREAMS, bool(_state.pools))
    return before
