"""Sentences of autocast: switched, casts, the cache; what its kernels do with the arguments of an operator."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.layers.autocast.autocast_policies import policy_of
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_names import recorded_key
from dispatchviz.explain.keys.key_text import keys_text
from dispatchviz.explain.sentences.event_groups import AutocastEvent
from dispatchviz.explain.sentences.sentence_claims import Dtype, RequiresGrad
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.foundation.english import counted, plain_dtype


def why(trace: Trace, event: AutocastEvent) -> Statement:
    """What autocast does here, and why."""
    match event:
        case ev.AutocastChanged():
            return _changed(event)
        case ev.AutocastCast():
            return _cast(trace, event)
        case ev.AutocastCacheCleared():
            gone = f"{counted(event.casts, 'cached cast')} {'is' if event.casts == 1 else 'are'} dropped"
            text = (
                f"No autocast is active any more, or its cache was cleared by hand: {gone}, so later uses are "
                "cast again, with the values of that time."
            )
            return Statement("autocast cache cleared", text)
        case _:
            assert_never(event)


def _changed(event: ev.AutocastChanged) -> Statement:
    dtype = plain_dtype(event.dtype)
    if event.excluded == event.excluded_before:
        when = "From here on" if event.enabled else "When it is on,"
        text = f"{when} autocast for {event.device} casts to {dtype}; no key set changes."
        return Statement("autocast dtype set", text)
    key = keys_text(event.excluded ^ event.excluded_before)
    if event.enabled:
        text = (
            f"Autocast for {event.device} is on: the thread no longer excludes {key}. The tensors have had that key "
            "all along, so operators with an autocast kernel now begin with it; for the others its cell is a "
            "fallthrough."
        )
        return Statement("autocast on", text)
    text = f"Autocast for {event.device} is off: the thread excludes {key} again, whichever tensors have it."
    return Statement("autocast off", text)


def _cast(trace: Trace, event: ev.AutocastCast) -> Statement:
    tensor, result = (tensor_name(trace, number, event.seq) for number in (event.tensor, event.result))
    after = plain_dtype(event.after)
    claims = (Dtype(event.tensor, event.before), Dtype(event.result, event.after))
    if event.how == "taken from the cache":
        text = (
            f"Autocast has cast {tensor} before and kept the cast: its {after} copy {result} is used again, so all "
            "uses share the Node of one cast."
        )
        return Statement("autocast cast used again", text, claims)
    takes = f"{result}, {tensor} in {after}, replaces it among the arguments"
    if event.how == "cast and kept":
        text = (
            f"{takes}. {tensor} is a {plain_dtype(event.before)} leaf that requires grad, and no view: autocast's "
            "cache keeps the cast until the outermost autocast ends."
        )
        return Statement("autocast cast kept", text, (*claims, RequiresGrad(event.tensor, True)))
    return Statement("autocast cast", f"{takes}, from {plain_dtype(event.before)}.", claims)


def task(operator: str, key: str) -> str:
    """What an autocast kernel does: its cast policy; empty if it is not known."""
    policy = policy_of(operator.partition("::")[2], recorded_key(key))
    if policy is None:
        return ""
    again = "" if policy.name == "banned" else f" Then it excludes {key} and calls the operator again."
    return f"Its cast policy is {policy.name}: {policy.value}.{again}"
