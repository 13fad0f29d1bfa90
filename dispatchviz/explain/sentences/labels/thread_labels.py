"""What a thread carries: guards, modes, streams, transforms, autocast."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.labels.label_functions import Labels
from dispatchviz.explain.sentences.stream_sentences import stream_name
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.foundation.english import plain_dtype

LABELS = Labels()


@LABELS.of(ev.GuardEntered)
def _guard(trace: Trace, event: ev.GuardEntered) -> str:
    return f"guard {event.guard}"


@LABELS.of(ev.GuardLeft)
def _guard_left(trace: Trace, event: ev.GuardLeft) -> str:
    return f"guard {event.guard} ends"


@LABELS.of(ev.GradModeChanged)
def _grad_mode(trace: Trace, event: ev.GradModeChanged) -> str:
    return f"grad mode {'on' if event.enabled else 'off'} ({event.why})"


@LABELS.of(ev.InferenceModeChanged)
def _inference_mode(trace: Trace, event: ev.InferenceModeChanged) -> str:
    return f"inference mode {'on' if event.enabled else 'off'}"


@LABELS.of(ev.StreamChanged)
def _stream(trace: Trace, event: ev.StreamChanged) -> str:
    return f"on {stream_name(event.stream)} ({event.why})"


@LABELS.of(ev.StreamEventRecorded)
def _stream_event(trace: Trace, event: ev.StreamEventRecorded) -> str:
    return f"event {event.event} recorded on {stream_name(event.stream)}"


@LABELS.of(ev.StreamWaited)
def _stream_waited(trace: Trace, event: ev.StreamWaited) -> str:
    return f"{stream_name(event.stream)} waits for event {event.event} of {stream_name(event.recorded_on)}"


@LABELS.of(ev.MemoryUsedOnStream)
def _stream_memory(trace: Trace, event: ev.MemoryUsedOnStream) -> str:
    return f"memory of {tensor_name(trace, event.tensor, event.seq)} used on {stream_name(event.stream)}"


def _layer(trace: Trace, event: ev.DynamicLayerPushed | ev.DynamicLayerPopped) -> str:
    return f"{event.transform.lower()} level {event.level} {event.why}"


LABELS.of(ev.DynamicLayerPushed)(_layer)
LABELS.of(ev.DynamicLayerPopped)(_layer)


@LABELS.of(ev.AutocastChanged)
def _autocast(trace: Trace, event: ev.AutocastChanged) -> str:
    return f"autocast for {event.device} {'on' if event.enabled else 'off'} ({plain_dtype(event.dtype)})"


@LABELS.of(ev.AutocastCast)
def _autocast_cast(trace: Trace, event: ev.AutocastCast) -> str:
    result = tensor_name(trace, event.result, event.seq)
    return f"{tensor_name(trace, event.tensor, event.seq)} → {result} {plain_dtype(event.after)} ({event.how})"


@LABELS.of(ev.AutocastCacheCleared)
def _autocast_cleared(trace: Trace, event: ev.AutocastCacheCleared) -> str:
    return f"autocast's cache cleared ({event.casts})"
