"""Sentences of the thread's state: guards, grad mode, inference mode."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_reasons import guard_reason
from dispatchviz.explain.keys.key_text import BACKENDS, is_autograd, keys_text
from dispatchviz.explain.sentences import autocast_sentences, functorch_sentences, stream_sentences
from dispatchviz.explain.sentences.event_groups import ThreadEvent
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import around, key_of_kernel
from dispatchviz.explain.trace_index.trace_index import index, latest
from dispatchviz.foundation.english import capital, listed


def why(trace: Trace, event: ThreadEvent) -> Statement:
    """Why the thread's state changes here."""
    match event:
        case ev.GuardEntered():
            return _entered(trace, event)
        case ev.GuardLeft():
            return _left(trace, event)
        case ev.GradModeChanged():
            return _grad_mode(trace, event)
        case ev.InferenceModeChanged():
            return _inference_mode(event)
        case ev.DynamicLayerPushed() | ev.DynamicLayerPopped():
            return functorch_sentences.why(trace, event)
        case ev.StreamChanged() | ev.StreamEventRecorded() | ev.StreamWaited() | ev.MemoryUsedOnStream():
            return stream_sentences.why(trace, event)
        case ev.AutocastChanged() | ev.AutocastCast() | ev.AutocastCacheCleared():
            return autocast_sentences.why(trace, event)
        case _:
            assert_never(event)


def _inference_mode(event: ev.InferenceModeChanged) -> Statement:
    if not event.enabled:
        return Statement("inference mode off", "Inference mode is off: the autograd keys are no longer excluded.")
    text = (
        "Inference mode is on: the thread excludes the autograd keys and no longer includes ADInplaceOrView, so calls "
        "skip the autograd kernels altogether, not just the making of Nodes."
    )
    return Statement("inference mode on", text)


def _entered(trace: Trace, event: ev.GuardEntered) -> Statement:
    changes = _changes(event)
    if not changes:
        return Statement("idle guard", f"The guard {event.guard} sets what is already set: nothing changes.")
    because = f"{guard_reason(trace, event)}{_after(trace, event)}"
    return Statement("guard", f"Until the guard {event.guard} ends, the thread {listed(changes)}: {because}.")


def _changes(event: ev.GuardEntered) -> list[str]:
    def moved(now: int, before: int) -> int:
        return now & ~before & ~BACKENDS

    return [
        f"{verb} {keys_text(keys)}"
        for verb, keys in (
            ("excludes", moved(event.excluded, event.excluded_before)),
            ("no longer excludes", moved(event.excluded_before, event.excluded)),
            ("includes", moved(event.included, event.included_before)),
            ("no longer includes", moved(event.included_before, event.included)),
        )
        if keys
    ]


def _after(trace: Trace, event: ev.GuardEntered) -> str:
    """The purpose of a guard around a redispatch."""
    kernel = around(trace, event.seq, ev.KernelEntered)
    if kernel is None or event.parent != kernel.seq:
        return ""
    key = key_of_kernel(trace, kernel)
    if is_autograd(key) or key == "ADInplaceOrView":
        return ", so calls that the kernels below make are not recorded again"
    return ""


def _left(trace: Trace, event: ev.GuardLeft) -> Statement:
    entered = trace[event.parent] if event.parent is not None else None
    gone = entered.excluded & ~event.excluded if isinstance(entered, ev.GuardEntered) else 0
    back = ": calls from here on can reach autograd again" if gone & autograd_dispatch_keyset else ""
    return Statement("guard ended", f"The guard {event.guard} ends and restores the sets that it saved{back}.")


def _grad_mode(trace: Trace, event: ev.GradModeChanged) -> Statement:
    if event.why == "inference mode":
        return Statement("grad mode off by inference mode", "Inference mode switches grad mode off as well.")
    how = f"{_switch(event.why)} {'puts grad mode back' if event.why.startswith('leaving') else 'switches grad mode'}"
    if event.enabled:
        return Statement("grad mode on", f"{how} on: operators record Nodes again.")
    if latest(index(trace).inference, event.seq):
        return Statement("grad mode off in inference mode", f"{how} off, for inference mode is still on.")
    text = f"{how} off: no key changes and the autograd kernels still run, but they make no Nodes until it is on again."
    return Statement("grad mode off", text)


def _switch(why: str) -> str:
    if why.startswith("backward"):
        return f"The backward pass{why.removeprefix('backward')}"
    return "inference_mode(False)" if why == "inference mode off" else capital(why)
