"""Sentences of CUDA streams: who is on which one, who waits for whom."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.english import capital
from dispatchviz.explain.groups import StreamEvent
from dispatchviz.explain.names import tensor_name


def why(trace: Trace, event: StreamEvent) -> str:
    """What happens between streams here, and why."""
    match event:
        case ev.StreamChanged():
            return _changed(event)
        case ev.StreamEventRecorded():
            return (
                f"CUDA event {event.event} marks everything that is in {stream_name(event.stream)} by now: {event.why}."
                " Nobody waits yet."
            )
        case ev.StreamWaited():
            return (
                f"{capital(stream_name(event.stream))} runs nothing further before {stream_name(event.recorded_on)}"
                f" has reached CUDA event {event.event}: {event.why}. The CPU itself does not wait."
            )
        case ev.MemoryUsedOnStream():
            name = tensor_name(trace, event.tensor, event.seq)
            return (
                f"The memory of {name} belongs to the stream that allocated it, and {stream_name(event.stream)} uses"
                f" it too: {event.why}. Once freed, it is given away again only when that stream is through with it."
            )
        case _:
            assert_never(event)


def _changed(event: ev.StreamChanged) -> str:
    now, before = stream_name(event.stream), stream_name(event.before)
    if event.why.startswith("leaving "):
        return f"The thread is back on {now}: what follows is queued there."
    return (
        f"What follows is queued on {now} and no longer on {before}: {event.why}. Two streams run side by side unless "
        "one waits for an event of the other. No dispatch key changes."
    )


def stream_name(number: int) -> str:
    """``the default stream``, ``stream 2``"""
    return f"stream {number}" if number else "the default stream"
