"""CUDA streams: the current stream, and which stream waits for which."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import Kind, Rule, unseen
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name

_STREAMS = "streams are not watched"


def _changed(event: ev.StreamChanged) -> Statement:
    now, before = stream_name(event.stream), stream_name(event.before)
    if event.why.startswith("leaving "):
        return Statement("stream left", f"The thread is back on {now}. Later kernels are queued there.")
    text = (
        f"Later kernels are queued on {now} instead of {before} ({event.why}). Two streams run concurrently unless one "
        "waits for an event of the other. No dispatch key changes."
    )
    return Statement("stream changed", text)


def stream_name(number: int) -> str:
    """``the default stream``, ``stream 2``"""
    return f"stream {number}" if number else "the default stream"


def _reason(why: str) -> str:
    """The reason of an event, as a clause behind ``because``."""
    return "the program asks for it" if why == "the program says so" else why


def _stream_waited_label(trace: Trace, event: ev.StreamWaited) -> str:
    return f"{stream_name(event.stream)} waits for event {event.event} of {stream_name(event.recorded_on)}"


def _stream_memory_label(trace: Trace, event: ev.MemoryUsedOnStream) -> str:
    return f"memory of {tensor_name(trace, event.tensor, event.seq)} used on {stream_name(event.stream)}"


def _why_stream_event_recorded(trace: Trace, event: ev.StreamEventRecorded) -> Statement:
    text = (
        f"CUDA event {event.event} records all work queued on {stream_name(event.stream)} so far, because "
        f"{_reason(event.why)}. No stream waits for it yet."
    )
    return Statement("stream event recorded", text)


def _why_stream_waited(trace: Trace, event: ev.StreamWaited) -> Statement:
    text = (
        f"Later work on {stream_name(event.stream)} runs only after {stream_name(event.recorded_on)} has reached CUDA "
        f"event {event.event}, because {_reason(event.why)}. The CPU itself does not wait."
    )
    return Statement("stream waits", text)


def _why_memory_used_on_stream(trace: Trace, event: ev.MemoryUsedOnStream) -> Statement:
    name = tensor_name(trace, event.tensor, event.seq)
    text = (
        f"The memory of {name} belongs to the stream that allocated it, and {stream_name(event.stream)} uses it too, "
        f"because {_reason(event.why)}. Once freed, it is reused only after the work that is queued on "
        f"{stream_name(event.stream)} by then."
    )
    return Statement("memory used on a stream", text)


_ORDER_RULE = Rule(
    "Only events order two streams: one stream records an event, and the other waits for it. The CPU blocks in "
    "neither case.",
    "c10::Stream::wait",
    "c10/core/Stream.cpp",
)

STREAM_KINDS = (
    Kind(
        ev.StreamChanged,
        group="thread",
        label=lambda trace, event: f"on {stream_name(event.stream)} ({event.why})",
        why=lambda trace, event: _changed(event),
        rule=Rule(
            "A thread has one current stream per device. Kernels are queued on it, and the CPU does not wait.",
            "c10::cuda::setCurrentCUDAStream",
            "c10/cuda/CUDAStream.cpp",
        ),
        known=unseen(_STREAMS),
    )
    | Kind(
        ev.StreamEventRecorded,
        group="thread",
        label=lambda trace, event: f"event {event.event} recorded on {stream_name(event.stream)}",
        why=_why_stream_event_recorded,
        rule=_ORDER_RULE,
        known=unseen(_STREAMS),
    )
    | Kind(
        ev.StreamWaited,
        group="thread",
        label=_stream_waited_label,
        why=_why_stream_waited,
        rule=_ORDER_RULE,
        known=unseen(_STREAMS),
    )
    | Kind(
        ev.MemoryUsedOnStream,
        group="thread",
        label=_stream_memory_label,
        why=_why_memory_used_on_stream,
        rule=Rule(
            "The caching allocator knows only the stream that allocated a block. Other streams need record_stream.",
            "recordStream",
            "c10/cuda/CUDACachingAllocator.cpp",
        ),
        known=unseen(_STREAMS),
    )
)
