"""Events as lines of JSON, and back: each event is a line with an array that begins with the name of its kind.

A kind that a newer version wrote is kept as ``Unknown``, and so is an event with a value that its field cannot have.
Text that is not UTF-8 (lone surrogates) is written with JSON's escapes, which lose nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, get_args

import msgspec

from dispatchviz.core.record.events import AnyEvent, Unknown
from dispatchviz.foundation.errors import DispatchvizError

Raw = bytes | memoryview

KINDS: tuple[str, ...] = tuple(kind.__name__ for kind in get_args(AnyEvent))
"""The names of all kinds of events."""

LONGEST = 1 << 26
"""The number of bytes that a line may have; a longer one is damaged. The texts of the program's files are in one
line.
"""


def _plain(value: object) -> object:
    """Encode the values that msgspec does not know."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a trace cannot contain a {type(value).__name__}")


_encoder = msgspec.json.Encoder(enc_hook=_plain)


@cache
def _decoder() -> msgspec.json.Decoder[AnyEvent]:
    """The decoder, created on first use: most processes write events and read none, and creating it examines the fields
    of all kinds.
    """
    return msgspec.json.Decoder(AnyEvent)


def encode(part: object) -> bytes:
    """The line of a header or an event, without a line end."""
    try:
        return _encoder.encode(part)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(part, enc_hook=_plain), separators=(",", ":")).encode()


def encode_lines(events: Sequence[AnyEvent]) -> bytes:
    """The lines of events, each with a line end."""
    try:
        return _encoder.encode_lines(events)
    except UnicodeEncodeError:
        return b"".join(encode(event) + b"\n" for event in events)


class LineError(DispatchvizError, ValueError):
    """The error for a line that is not an event, or whose event belongs elsewhere. ``good`` has the events before
    it.
    """

    def __init__(self, good: list[AnyEvent]) -> None:
        super().__init__(f"not an event, after {len(good)} that are")
        self.good = good


def decode_lines(raw: Raw, first: int) -> list[AnyEvent]:
    """The events of some whole lines, beginning with ``seq == first``. Raise LineError if a line is damaged."""
    try:
        events: list[AnyEvent] = _decoder().decode_lines(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _one_by_one(raw, first)
    for seq, event in enumerate(events, first):
        if event.seq != seq or ((parent := event.parent) is not None and not 0 <= parent < seq):
            raise LineError(events[: seq - first])
    return events


def decode_some(lines: Sequence[bytes], steps: Sequence[int]) -> list[AnyEvent] | None:
    """The events of some steps, given their lines; None if one of them must be decoded by itself."""
    try:
        events: list[AnyEvent] = _decoder().decode_lines(b"\n".join(lines))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    are_those = [event.seq for event in events] == list(steps)
    sound = are_those and all(event.parent is None or 0 <= event.parent < event.seq for event in events)
    return events if sound else None


def _one_by_one(raw: Raw, first: int) -> list[AnyEvent]:
    good: list[AnyEvent] = []
    for seq, line in enumerate(_LINE.finditer(memoryview(raw)), first):
        try:
            good.append(_event(line.group(), seq))
        except (ValueError, RecursionError):  # msgspec's and json's errors are both
            raise LineError(good) from None
    return good


_LINE = re.compile(rb"[^\n]+")
"""A pattern to find lines without copying them, since one line may have many megabytes."""


def _event(line: Raw, seq: int) -> AnyEvent:
    try:
        event: AnyEvent = _decoder().decode(line)
    except msgspec.ValidationError:
        event = _with_new_words(line, seq)
    except (msgspec.DecodeError, UnicodeDecodeError):
        event = _with_escapes(line, seq)
    if event.seq != seq or (event.parent is not None and not 0 <= event.parent < seq):
        raise ValueError("events are out of order")
    return event


_OLD_WORDS = {
    "grad mode is off and nobody else holds the gradient that was there": (
        "grad mode is off and only the buffer holds the earlier gradient"
    ),
    "a dispatch mode or a subclass of Tensor may want to see a sum that writes to nothing": (
        "a dispatch mode or a Tensor subclass is involved: the sum must not be in place"
    ),
    "the gradient that was there is a zero tensor, which has no memory": (
        "the earlier gradient is a zero tensor, which has no memory"
    ),
    "somebody else holds the gradient that was there": "the earlier gradient has another reference",
    "elements of the gradient that was there share memory": "elements of the earlier gradient share memory",
    "the program says so": "the program asks for it",
    "lets the call go on": "passes the call on",
    "is back": "is pushed again",
    "taken as it is": "stored without a copy",
    "copied, to be laid out as the tensor": "copied into the tensor's layout",
    "a view of its base's": "a view of the base's tangent",
}
"""Words of closed vocabularies in traces of earlier versions, and today's."""

_NEW_WORDS = {msgspec.json.encode(old): msgspec.Raw(msgspec.json.encode(new)) for old, new in _OLD_WORDS.items()}


def _with_new_words(line: Raw, seq: int) -> AnyEvent:
    """An event of an earlier version with today's words. Any other event is kept as ``Unknown``."""
    values = msgspec.json.decode(line, type=list[msgspec.Raw])
    renewed = [_NEW_WORDS.get(bytes(value), value) if len(bytes(value)) < 100 else value for value in values]
    if any(new is not value for new, value in zip(renewed, values, strict=True)):
        with suppress(msgspec.ValidationError):
            return _decoder().decode(msgspec.json.encode(renewed))
    return _kept_as_it_is(line, seq)


def _kept_as_it_is(line: Raw, seq: int) -> Unknown:
    """The Unknown event of a line, as ``_unknown`` returns it. The values themselves are not decoded, since they may
    have any size.
    """
    values = msgspec.json.decode(line, type=list[msgspec.Raw])
    unknown = _unknown([msgspec.json.decode(value) for value in values[:3]], seq)
    return msgspec.structs.replace(unknown, fields=b"".join((b"[", b",".join(values[3:]), b"]")).decode())


def _with_escapes(line: Raw, seq: int) -> AnyEvent:
    """An event with text that is not UTF-8, which msgspec refuses to read."""
    fields = json.loads(bytes(line))
    try:
        return msgspec.convert(fields, AnyEvent)  # type: ignore[no-any-return]
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter if a field has a closed vocabulary
        return _unknown(fields, seq)


def _unknown(fields: Any, seq: int) -> Unknown:
    """An event whose kind or form this version does not know. Raise ValueError if it is not an event at all."""
    match fields:
        case [str() as kind, int() as number, parent, *rest] if number == seq:
            known = isinstance(parent, int) and not isinstance(parent, bool) and 0 <= parent < seq
            return Unknown(seq, parent if known else None, kind, json.dumps(rest, separators=(",", ":")))
    raise ValueError("not an event")


def decode_header(line: Raw, kind: type[Any]) -> Any:
    """A header of that type. Raise ValueError if the line is not one."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.ValidationError, RecursionError):
        raise ValueError("not a header") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(json.loads(bytes(line)), kind)
