"""Autocast: its switches, casts and cache."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_text import keys_text
from dispatchviz.explain.kinds.kind import SWITCHES, Kind, Rule, unseen
from dispatchviz.explain.sentences.sentence_claims import Dtype, RequiresGrad
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.foundation.english import counted, plain_dtype


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


_AUTOCAST = "aten/src/ATen/autocast_mode.cpp"


def _autocast_label(trace: Trace, event: ev.AutocastChanged) -> str:
    return f"autocast for {event.device} {'on' if event.enabled else 'off'} ({plain_dtype(event.dtype)})"


def _autocast_cast_label(trace: Trace, event: ev.AutocastCast) -> str:
    result = tensor_name(trace, event.result, event.seq)
    return f"{tensor_name(trace, event.tensor, event.seq)} → {result} {plain_dtype(event.after)} ({event.how})"


def _why_autocast_cache_cleared(trace: Trace, event: ev.AutocastCacheCleared) -> Statement:
    gone = f"{counted(event.casts, 'cached cast')} {'is' if event.casts == 1 else 'are'} dropped"
    text = (
        f"No autocast is active any more, or its cache was cleared by hand: {gone}, so later uses are "
        "cast again, with the values of that time."
    )
    return Statement("autocast cache cleared", text)


AUTOCAST_KINDS = (
    Kind(
        ev.AutocastChanged,
        group="thread",
        label=_autocast_label,
        why=lambda trace, event: _changed(event),
        rule=Rule(
            "Autocast is on for a device if the thread does not exclude the device's Autocast key.",
            "at::autocast::set_autocast_enabled",
            _AUTOCAST,
        ),
        known=unseen(SWITCHES),
        level="calls",
        panes=("thread state", "source"),
        reason_in_log="always",
    )
    | Kind(
        ev.AutocastCast,
        group="thread",
        label=_autocast_cast_label,
        why=_cast,
        rule=Rule(
            "Autocast casts the floating tensors of its device, float64 aside; the cast of a float32 leaf that "
            "requires grad to the lower precision is cached.",
            "at::autocast::cached_cast",
            _AUTOCAST,
        ),
        known=unseen("a cast is seen as a call"),
        level="calls",
        panes=("tensors", "thread state"),
        reason_in_log="always",
    )
    | Kind(
        ev.AutocastCacheCleared,
        group="thread",
        label=lambda trace, event: f"autocast's cache cleared ({event.casts})",
        why=_why_autocast_cache_cleared,
        rule=Rule("Leaving the outermost autocast clears the cache.", "at::autocast::clear_cache", _AUTOCAST),
        known=unseen("the cache of autocast is inside autocast"),
        reason_in_log="always",
    )
)
