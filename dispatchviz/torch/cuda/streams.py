"""``torch.cuda.Stream``, ``torch.cuda.Event`` and the current stream (``torch/cuda/streams.py``).

NB: in PyTorch, there are also streams and events of other libraries or processes (``ExternalStream``, ``ipc_handle``),
and ``torch.Stream``, ``torch.Event`` for any accelerator. Emulated CUDA finishes all work at once, so ``query()`` is
True and ``elapsed_time`` 0.
"""

from __future__ import annotations

import ctypes
from types import TracebackType

from dispatchviz.core.device import streams as _streams
from dispatchviz.core.device.array_library import array_module, cuda_state
from dispatchviz.core.device.device import Device
from dispatchviz.torch.cuda.current_device import init, set_device


class Stream:
    """A CUDA stream. ``with stream:`` makes it the current one, as ``torch.cuda.stream(stream)`` does."""

    __slots__ = ("_context", "_stream")

    device_index = 0
    device_type = 1
    """``c10::DeviceType::CUDA``"""

    def __init__(self, device: object = None, priority: int = 0) -> None:
        init()
        set_device(device)
        self._stream = _streams.from_pool(priority)

    @classmethod
    def _of(cls, stream: _streams.Stream) -> Stream:
        """Return the Python object of a stream."""
        self = cls.__new__(cls)
        self._stream = stream
        return self

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the lowest and the highest priority: ``(0, -3)``."""
        return _streams.LOWEST_PRIORITY, _streams.HIGHEST_PRIORITY

    @property
    def device(self) -> Device:
        """``cuda:0``"""
        return self._stream.device

    @property
    def stream_id(self) -> int:
        """0 for the default stream."""
        return self._stream.stream_id

    @property
    def cuda_stream(self) -> int:
        """The address of the driver's stream. NB: if emulated, the ``stream_id``."""
        return self._stream.handle

    @property
    def priority(self) -> int:
        """The priority, 0 or negative; lower numbers run first."""
        return self._stream.priority

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    def wait_event(self, event: Event) -> None:
        """Make all later work of this stream wait for ``event``."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make all later work of this stream wait for the work that ``stream`` has now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event in this stream and return it; create one if none is given."""
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        """Return whether all submitted work is done."""
        return self._stream.query()

    def synchronize(self) -> None:
        """Block until all submitted work is done."""
        self._stream.synchronize()

    def __enter__(self) -> Stream:
        self._context = stream(self)
        self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(None, None, None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._stream is other._stream

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """A CUDA event: a mark in a stream that others can wait for."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        self.enable_timing = enable_timing
        self._event = _streams.Event()

    def record(self, stream: Stream | None = None) -> None:
        """Record the event in ``stream`` (by default the current one)."""
        self._event.record((stream or current_stream())._stream, "the program asks for it")

    def wait(self, stream: Stream | None = None) -> None:
        """Make all later work of ``stream`` (by default the current one) wait for the event."""
        (stream or current_stream())._stream.wait(self._event, "the program asks for it")

    def query(self) -> bool:
        """Return whether the work before the event is done."""
        return self._event.query()

    def synchronize(self) -> None:
        """Block until the work before the event is done."""
        self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds between two events. Raise ValueError unless both were created with ``enable_timing``
        and recorded.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._event.recorded_on is None or end_event._event.recorded_on is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not cuda_state().real:
            return 0.0
        ends = self._event.library_event, end_event._event.library_event
        return float(array_module("cuda").cuda.get_elapsed_time(*ends))

    @property
    def cuda_event(self) -> int:
        """The address of the driver's event, 0 before it is recorded. NB: if emulated, a number that counts from 1."""
        if self._event.recorded_on is None:
            return 0
        return self._event.number if self._event.library_event is None else int(self._event.library_event.ptr)

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self.cuda_event else "<torch.cuda.Event uninitialized>"


class StreamContext:
    """Make ``s`` the current stream for a block: ``with torch.cuda.stream(s):``. None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._guard = _streams.StreamGuard(None if stream is None else stream._stream, "torch.cuda.stream(s)")

    def __enter__(self) -> None:
        self._guard.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._guard.__exit__(kind, error, at)


def stream(stream: Stream | None) -> StreamContext:
    """Return a context manager for a block whose work goes to ``stream``."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Make ``stream`` the current one permanently. None changes nothing."""
    if stream is not None:
        _streams.set_current(stream._stream, "torch.cuda.set_stream(s)")


def current_stream(device: object = None) -> Stream:
    """Return the current stream of this thread."""
    init()
    set_device(device)
    return Stream._of(_streams.current())


def default_stream(device: object = None) -> Stream:
    """Return stream 0 of the device."""
    init()
    set_device(device)
    return Stream._of(_streams.DEFAULT)
