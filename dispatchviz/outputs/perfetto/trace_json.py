"""The file: Chrome's trace events as JSON, one event on each line, written while the trace is read.

The model has no clock. A step takes a microsecond, so its time is its number. A slice ends in the middle of its last
step. The shortest slice takes half a step, because Perfetto does not show a slice without length.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.recorded_engine import engine_text
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.perfetto.own_tracks import TRACKS, Length, OwnSlice, OwnTracks, Waits
from dispatchviz.outputs.perfetto.profiler_slices import LASTS, Arrow, ProfilerSlices, Slice
from dispatchviz.outputs.perfetto.threads import Threads

MARK = '{"dispatchviz_trace_events":'
"""The beginning of the file. Readers skip a name that they do not know."""

PROCESS = 1
CLOCK = "no time was measured: a step of the trace takes 1 microsecond, so ts is the number of the step"

CHUNK = 1 << 16


def perfetto_chunks(trace: Trace) -> Iterator[bytes]:
    """Yield the file in pieces."""
    piece = bytearray()
    for line in _lines(trace):
        piece += line
        if len(piece) >= CHUNK:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)


def compressed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces compressed by gzip, without a time stamp. So the same program gives the same bytes."""
    packer = zlib.compressobj(wbits=31)
    for chunk in chunks:
        yield packer.compress(chunk)
    yield packer.flush()


def _lines(trace: Trace) -> Iterator[bytes]:
    header = trace.header
    about = {
        "program": shown(header.program),
        "engine": shown(engine_text(header)),
        "clock": CLOCK,
        "steps": len(trace),
        "notice": shown(" · ".join(trace.notices)),
    }
    yield MARK.encode() + _encoded(about) + b',\n"schemaVersion":1,"record_shapes":1,"traceEvents":[\n'
    before = b""
    for event in _events(trace):
        yield before + _encoded(event)
        before = b",\n"
    yield b"\n]}\n"


_encoded = msgspec.json.Encoder().encode


def _events(trace: Trace) -> Iterator[dict[str, Any]]:
    threads = Threads(trace)
    yield from _names(trace, threads)
    profiler, own = ProfilerSlices(trace, threads), OwnTracks(trace)
    number = 0
    for event in trace:
        row = threads.of_step[event.seq]
        for made in profiler.see(event):
            if isinstance(made, Slice):
                number += 1
                numbered = {"External id": number, **made.args, "Ev Idx": number - 1, "step": made.begin}
                yield _slice(made, "cpu_op", _thread(made.row), numbered)
            else:
                yield from _arrow(made)
        for other in own.see(event, row):
            yield from _own(other)


def _thread(row: int, track: int = 0) -> int:
    """Return the number of a row. The rows of one thread follow each other."""
    return row + 1 if track == 0 else (row + 1) * 100 + track


def _names(trace: Trace, threads: Threads) -> Iterator[dict[str, Any]]:
    yield _named("process_name", 0, {"name": shown(trace.header.program)})
    yield _named("process_labels", 0, {"labels": shown(engine_text(trace.header))})
    order = 0
    for row, name in enumerate(threads.names):
        for track, title in {0: shown(name), **TRACKS}.items():
            thread = _thread(row, track)
            text = title if track == 0 or row == 0 else f"{title}, {shown(name)}"
            yield _named("thread_name", thread, {"name": text})
            yield _named("thread_sort_index", thread, {"sort_index": order})
            order += 1


def _named(what: str, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": what, "ts": 0, "pid": PROCESS, "tid": thread, "args": args}


def _slice(made: Slice, category: str, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": shown(made.name),
        "pid": PROCESS,
        "tid": thread,
        "ts": made.starts,
        "dur": made.end + LASTS - made.starts,
        "args": args,
    }


INSIDE = 0.125
"""The distance from the beginning of a slice at which an arrow is attached. Where one slice begins another one has
ended, and Chrome's viewer takes either of them.
"""


def _arrow(made: Arrow) -> Iterator[dict[str, Any]]:
    shared = {"id": made.number, "pid": PROCESS, "cat": "fwdbwd", "name": "fwdbwd"}
    yield {"ph": "s", **shared, "tid": _thread(made.begin_row), "ts": made.begin + INSIDE}
    yield {"ph": "f", "bp": "e", **shared, "tid": _thread(made.end_row), "ts": made.end + INSIDE}


CATEGORIES = ("", "line", "dispatch", "key", "guard")


def _own(made: OwnSlice | Waits | Length) -> Iterator[dict[str, Any]]:
    match made:
        case OwnSlice(track, part):
            args = {name: shown(text) if isinstance(text, str) else text for name, text in part.args.items()}
            yield _slice(part, CATEGORIES[track], _thread(part.row, track), args | {"step": part.begin})
        case Waits():
            number = {} if made.sequence_nr < 0 else {"Sequence number": made.sequence_nr}
            shared = {
                "pid": PROCESS,
                "tid": _thread(0),
                "cat": f"waits in the ready queue of {made.queue}",
                "name": shown(made.name),
                "id": f"n{made.node}.{made.begin}",
            }
            yield {"ph": "b", **shared, "ts": made.begin, "args": number}
            yield {"ph": "e", **shared, "ts": made.end, "args": {}}
        case Length():
            name = f"ready queue of {made.queue}"
            yield {"ph": "C", "pid": PROCESS, "name": name, "ts": made.step, "args": {"Nodes": made.number}}
