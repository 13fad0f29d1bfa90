"""The trace: a header and its events, as a value; how it is saved and loaded.

File format: JSON Lines in UTF-8. Line 1 is the header, then one event a line, an array that starts with the name of
its kind. A file that was cut off opens up to the cut and says so in ``notice``; kinds that a newer version wrote are
kept as ``Unknown``, and so are events with other values than their fields can have (``notice`` names the first one). A
path ending in ``.gz`` is compressed.

Not here: pictures and screens of a trace (``render``, ``tui``), sentences about it (``explain``).
"""

from __future__ import annotations

import gzip
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn, Self, get_args, overload

import msgspec

from dispatchviz.core.record.events import AnyEvent, Unknown
from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.errors import DispatchvizError

FORMAT = 2
"""Version of the file format; a reader refuses a header with a higher number. Since 2 meta and impl are spans."""


class TraceError(DispatchvizError):
    """A trace file cannot be read; the message has which one, why, and what to do."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole trace."""

    format: int = FORMAT
    engine: str = "model"
    """``model`` or ``torch``."""
    pytorch: str = "2.13.0"
    """The release whose rules apply."""
    cuda: str
    """``CuPy`` or ``emulated on NumPy (reason)``."""
    program: str
    """File name of the program, as the user gave it."""
    arguments: tuple[str, ...] = ()
    """What the program was given on its command line."""
    sources: Mapping[str, str] = MappingProxyType({})
    """File name to text."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "sources", MappingProxyType(dict(self.sources)))


class Nesting:
    """Which events happened within which: columns with an entry for each event, computed in two passes."""

    def __init__(self, events: Sequence[AnyEvent]) -> None:
        self.depths = tuple(_depths(events))
        self.ends = tuple(_ends(events))
        self._first, self._next = _families(events)

    def children(self, seq: int) -> Iterator[int]:
        """The ``seq`` of each event directly within one, in order."""
        child = self._first[seq]
        while child:
            yield child
            child = self._next[child]


def _depths(events: Iterable[AnyEvent]) -> list[int]:
    depths: list[int] = []
    for event in events:
        depths.append(0 if event.parent is None else depths[event.parent] + 1)
    return depths


def _ends(events: Sequence[AnyEvent]) -> list[int]:
    ends = list(range(len(events)))
    for event in reversed(events):
        if event.parent is not None and ends[event.seq] > ends[event.parent]:
            ends[event.parent] = ends[event.seq]
    return ends


def _families(events: Sequence[AnyEvent]) -> tuple[array[int], array[int]]:
    """Of each event the first child and the next sibling, 0 if there is none: event 0 is nobody's child."""
    first, following = array("i", [0]) * len(events), array("i", [0]) * len(events)
    for event in reversed(events):
        if event.parent is not None:
            following[event.seq] = first[event.parent]
            first[event.parent] = event.seq
    return first, following


class Trace:
    """A recording that is complete: a value, which nobody can change.

    ``trace[i]`` is the event with ``seq == i``; ``notice`` is a sentence about what is wrong with the file it came
    from, or empty. Two traces are the same only if they are one object.
    """

    events: tuple[AnyEvent, ...]
    notice: str
    _make_header: Callable[[], Header]
    """Of a trace that was made without its header."""

    def __init__(self, header: Header, events: Iterable[AnyEvent], notice: str = "") -> None:
        vars(self).update(header=header, events=tuple(events), notice=notice)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a trace cannot be changed: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a trace cannot be changed: {name}")

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[AnyEvent]:
        return iter(self.events)

    @overload
    def __getitem__(self, at: int) -> AnyEvent: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[AnyEvent]: ...
    def __getitem__(self, at: int | slice) -> AnyEvent | Sequence[AnyEvent]:
        return self.events[at]

    @cached_property
    def header(self) -> Header:
        """Of a trace that was recorded here it is made when it is first needed: what ``cuda`` is, a GPU has to say."""
        return self._make_header()

    @cached_property
    def nesting(self) -> Nesting:
        """Computed when it is first needed."""
        return Nesting(self.events)

    @property
    def depths(self) -> tuple[int, ...]:
        """Per event, how many others it happened within."""
        return self.nesting.depths

    @property
    def ends(self) -> tuple[int, ...]:
        """Per event, the ``seq`` of the last event that happened within it (its own if none did)."""
        return self.nesting.ends

    def children(self, seq: int) -> Iterator[AnyEvent]:
        """The events directly within one, in order."""
        events = self.events
        return (events[child] for child in self.nesting.children(seq))

    def ancestors(self, seq: int) -> Iterator[AnyEvent]:
        """The events around one, innermost first, without itself."""
        events = self.events
        parent = events[seq].parent
        while parent is not None:
            yield events[parent]
            parent = events[parent].parent

    def save(self, path: str | Path) -> None:
        """Writes the trace file; compressed if the name ends in ``.gz``. OSError leaves what was there as it was."""
        write_whole(path, self.encoded(compressed=str(path).lower().endswith(".gz")))

    def encoded(self, compressed: bool = False) -> bytes:
        """The trace file's bytes."""
        text = b"".join(encode(part) + b"\n" for part in (self.header, *self.events))
        return gzip.compress(text, mtime=0) if compressed else text

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a trace file, up to the cut if it was cut off (``notice`` then has that).

        Raises TraceError if the file is missing or its first line is not the header of a trace.
        """
        try:
            raw = Path(path).read_bytes()
        except OSError as error:
            raise TraceError(f"cannot read {path}: {error.strerror}") from None
        return cls.decoded(raw, path)

    @classmethod
    def decoded(cls, raw: bytes, path: str | Path) -> Self:
        """Reads what ``encoded`` gave, up to where it was cut off; ``path`` is what errors call it.

        Raises TraceError if the first line is not the header of a trace.
        """
        header, *lines = _lines(raw)
        events: list[AnyEvent] = []
        for number, line in enumerate(lines):
            try:
                events.append(_event(line, number))
            except msgspec.DecodeError:
                return cls(_header(header, path), events, f"{path} is cut off: it opens up to step {number - 1}")
        return cls(_header(header, path), events, _not_understood(events, path))


_KINDS = frozenset(kind.__name__ for kind in get_args(AnyEvent))


def _not_understood(events: Sequence[AnyEvent], path: str | Path) -> str:
    """A sentence about the first event of a known kind whose fields could not be decoded; empty if there is none."""
    for event in events:
        if isinstance(event, Unknown) and event.kind in _KINDS:
            return f"{path} has a value at step {event.seq} that this version does not know: it is shown as it is"
    return ""


def _plain(value: object) -> object:
    """What msgspec cannot encode by itself."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a trace holds no {type(value).__name__}")


encode = msgspec.json.Encoder(enc_hook=_plain).encode
"""The line of a header or an event."""
_decode = msgspec.json.Decoder(AnyEvent).decode


def _event(line: bytes, seq: int) -> AnyEvent:
    """Decodes one line; ``msgspec.ValidationError`` means a kind or form of a newer version."""
    try:
        event: AnyEvent = _decode(line)
    except msgspec.ValidationError:
        kind, _, parent, *fields = _array(line, seq)
        parent = parent if isinstance(parent, int) and 0 <= parent < seq else None
        return Unknown(seq, parent, str(kind), msgspec.json.encode(fields).decode())
    if event.seq != seq or (event.parent is not None and not 0 <= event.parent < seq):
        raise msgspec.DecodeError("events are out of order")
    return event


def _array(line: bytes, seq: int) -> list[object]:
    match msgspec.json.decode(line):
        case [str(), int() as number, _, *_] as fields if number == seq:
            return list(fields)
    raise msgspec.DecodeError("not an event")


def looks_like_trace(raw: bytes) -> bool:
    """Whether some bytes begin as a trace file does, as far as they go. What is compressed is looked into."""
    return (_unpacked(raw) if raw[:2] == _GZIP else raw).startswith(_BEGIN)


_BEGIN = b'{"format":'
_GZIP = b"\x1f\x8b"


def _lines(raw: bytes) -> list[bytes]:
    lines = (_unpacked(raw) if raw[:2] == _GZIP else raw).split(b"\n")
    return lines[:-1] if lines[-1] == b"" and len(lines) > 1 else lines


def _unpacked(raw: bytes) -> bytes:
    """Decompresses as far as the data goes, and as far as it is sound."""
    unpack, parts = zlib.decompressobj(wbits=31).decompress, []
    for start in range(0, len(raw), _PIECE):
        try:
            parts.append(unpack(raw[start : start + _PIECE]))
        except zlib.error:
            break
    return b"".join(parts)


_PIECE = 256
"""Bytes at a time: of a damaged file so much may be lost before the damage."""


def _header(line: bytes, path: str | Path) -> Header:
    try:
        header = msgspec.json.decode(line, type=Header)
    except msgspec.DecodeError:
        raise TraceError(f"{path} is not a dispatchviz trace: its first line is not a trace header") from None
    if header.format > FORMAT:
        raise TraceError(
            f"{path} has trace format {header.format}, this version reads up to {FORMAT}: update dispatchviz"
        )
    return header
