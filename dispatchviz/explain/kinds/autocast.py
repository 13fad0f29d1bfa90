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
        now = f"now casts to {dtype}" if event.enabled else f"will cast to {dtype} once it is on"
        text = f"Autocast for {event.device} {now}. No key set changes."
        return Statement("autocast dtype set", text)
    key = keys_text(event.excluded ^ event.excluded_before)
    if event.enabled:
        text = (
            f"Autocast for {event.device} is on, so {key} is no longer in the thread-local exclude set. The tensors "
            "have had that key all along: operators with an autocast kernel now run it, and the others have a "
            "fallthrough there."
        )
        return Statement("autocast on", text)
    text = (
        f"Autocast for {event.device} is off, so {key} is in the thread-local exclude set again. Calls skip that key "
        "even if a tensor has it."
    )
    return Statement("autocast off", text)


def _cast(trace: Trace, event: ev.AutocastCast) -> Statement:
    tensor, result = (tensor_name(trace, number, event.seq) for number in (event.tensor, event.result))
    after = plain_dtype(event.after)
    claims = (Dtype(event.tensor, event.before), Dtype(event.result, event.after))
    if event.how == "taken from the cache":
        text = (
            f"Autocast cast {tensor} to {after} before and cached the result, {result}. It uses {result} again, so all "
            "uses share the Node of one cast."
        )
        return Statement("autocast cast used again", text, claims)
    casts = (
        f"Autocast casts {tensor} from {plain_dtype(event.before)} to {after} and passes the result, {result}, instead."
    )
    if event.how == "cast and kept":
        text = (
            f"{casts} {tensor} is a leaf that requires grad and is not a view, so autocast's cache keeps the result "
            "until the outermost autocast ends."
        )
        return Statement("autocast cast kept", text, (*claims, RequiresGrad(event.tensor, True)))
    return Statement("autocast cast", casts, claims)


_AUTOCAST = "aten/src/ATen/autocast_mode.cpp"


def _autocast_label(trace: Trace, event: ev.AutocastChanged) -> str:
    return f"autocast for {event.device} {'on' if event.enabled else 'off'} ({plain_dtype(event.dtype)})"


def _autocast_cast_label(trace: Trace, event: ev.AutocastCast) -> str:
    result = tensor_name(trace, event.result, event.seq)
    return f"{tensor_name(trace, event.tensor, event.seq)} → {result} {plain_dtype(event.after)} ({event.how})"


def _why_autocast_cache_cleared(trace: Trace, event: ev.AutocastCacheCleared) -> Statement:
    text = (
        f"Autocast drops {counted(event.casts, 'cached cast')}, because the outermost autocast ended or the program "
        "cleared the cache. Later uses are cast again, with the values that the tensors have then."
    )
    return Statement("autocast cache cleared", text)


AUTOCAST_KINDS = (
    Kind(
        ev.AutocastChanged,
        group="thread",
        label=_autocast_label,
        why=lambda trace, event: _changed(event),
        rule=Rule(
            "Autocast is on for a device if the device's Autocast key is not in the thread-local exclude set.",
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
            "Autocast casts floating-point tensors of its device, except float64. It caches the cast of a float32 "
            "leaf that requires grad to the lower precision.",
            "at::autocast::cached_cast",
            _AUTOCAST,
        ),
        known=unseen("a cast appears as a call"),
        level="calls",
        panes=("tensors", "thread state"),
        reason_in_log="always",
    )
    | Kind(
        ev.AutocastCacheCleared,
        group="thread",
        label=lambda trace, event: f"autocast's cache cleared ({event.casts})",
        why=_why_autocast_cache_cleared,
        rule=Rule(
            ("A cached cast lives at most until the outermost autocast ends."), "at::autocast::clear_cache", _AUTOCAST
        ),
        known=unseen("autocast does not expose its cache"),
        reason_in_log="always",
    )
)
