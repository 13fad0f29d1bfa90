"""Sentences of CUDA streams: which is current, which waits for which."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.event_groups import StreamEvent
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name


def why(trace: Trace, event: StreamEvent) -> Statement:
    """What happens between streams here, and why."""
    match event:
        case ev.StreamChanged():
            return _changed(event)
        case ev.StreamEventRecorded():
            text = (
                f"CUDA event {event.event} records all work queued on {stream_name(event.stream)} so far: "
                f"{event.why}. No stream waits for it yet."
            )
            return Statement("stream event recorded", text)
        case ev.StreamWaited():
            text = (
                f"Work queued on {stream_name(event.stream)} from here on runs only after "
                f"{stream_name(event.recorded_on)} has reached CUDA event {event.event}: {event.why}. The CPU itself "
                "does not wait."
            )
            return Statement("stream waits", text)
        case ev.MemoryUsedOnStream():
            name = tensor_name(trace, event.tensor, event.seq)
            text = (
                f"The memory of {name} belongs to the stream that allocated it, and {stream_name(event.stream)} uses "
                f"it too: {event.why}. Once freed, it is reused only after the work that is queued on that stream by "
                "then."
            )
            return Statement("memory used on a stream", text)
        case _:
            assert_never(event)


def _changed(event: ev.StreamChanged) -> Statement:
    now, before = stream_name(event.stream), stream_name(event.before)
    if event.why.startswith("leaving "):
        return Statement("stream left", f"The thread is back on {now}: later kernels are queued there.")
    text = (
        f"Later kernels are queued on {now} and no longer on {before}: {event.why}. Two streams run concurrently "
        "unless one waits for an event of the other. No dispatch key changes."
    )
    return Statement("stream changed", text)


def stream_name(number: int) -> str:
    """``the default stream``, ``stream 2``"""
    return f"stream {number}" if number else "the default stream"
