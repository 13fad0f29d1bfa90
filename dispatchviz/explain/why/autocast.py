"""Sentences of autocast: switched, casts, the cache; what its kernels do with the arguments of an operator."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.autocast_policies import policy_of
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.trace import Trace
from dispatchviz.explain.english import counted, plain_dtype
from dispatchviz.explain.groups import AutocastEvent
from dispatchviz.explain.key_words import said
from dispatchviz.explain.names import tensor_name


def why(trace: Trace, event: AutocastEvent) -> str:
    """What autocast does here, and why."""
    match event:
        case ev.AutocastChanged():
            return _changed(event)
        case ev.AutocastCast():
            return _cast(trace, event)
        case ev.AutocastCacheCleared():
            gone = f"{counted(event.casts, 'kept cast')} {'is' if event.casts == 1 else 'are'} dropped"
            return (
                f"No autocast is open any more, or its cache was cleared by hand: {gone}, so that weights that an "
                "optimizer changes are cast anew."
            )
        case _:
            assert_never(event)


def _changed(event: ev.AutocastChanged) -> str:
    if event.excluded == event.excluded_before:
        return f"From here on autocast for {event.device} casts to {plain_dtype(event.dtype)}; no key set changes."
    key = said(event.excluded ^ event.excluded_before)
    if event.enabled:
        return (
            f"Autocast for {event.device} is on: the thread no longer keeps {key} out. The tensors have carried that "
            "key all along, so operators with an autocast kernel now begin with it; for the others its cell is a "
            "fallthrough."
        )
    return f"Autocast for {event.device} is off: the thread keeps {key} out again, whatever the tensors carry."


def _cast(trace: Trace, event: ev.AutocastCast) -> str:
    tensor, result = (tensor_name(trace, number, event.seq) for number in (event.tensor, event.result))
    after = plain_dtype(event.after)
    if event.how == "taken from the cache":
        return (
            f"Autocast has cast the weight {tensor} before: its {after} copy {result} is used again, so the graph has "
            "one Node for the cast however often the weight is used."
        )
    said = f"{result}, {tensor} in {after}, takes its place among the arguments"
    if event.how == "cast and kept":
        return (
            f"{said}. {tensor} is a leaf that requires grad, a weight: the cast is kept for the rest of the autocast."
        )
    return f"{said}, from {plain_dtype(event.before)}."


def task(operator: str, key: str) -> str:
    """What an autocast kernel does: its cast policy; empty if it is not known."""
    policy = policy_of(operator.partition("::")[2], DispatchKey[key])
    if policy is None:
        return ""
    again = "" if policy.name == "banned" else f" Then it keeps {key} out and calls the operator again, from the top."
    return f"Its cast policy is {policy.name}: {policy.value}.{again}"
