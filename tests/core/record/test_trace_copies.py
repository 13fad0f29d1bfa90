"""Saving an opened trace copies its lines: the same trace in all directions, whatever the file went through."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from dispatchviz.core.record.events import AnyEvent, Dispatched, Printed, SourceLine, Unknown
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.core.record.trace_file import stored_events as module
from dispatchviz.core.record.trace_file.stored_events import StoredEvents
from dispatchviz.core.record.trace_file.writers import SUFFIXES

HEADER = Header(cuda="none", program="p.py", rank=3, sources={"p.py": "x = 1\n"})
EVENTS: list[AnyEvent] = [
    SourceLine(0, None, "p.py", 1),
    *(Dispatched(at, 0, "call", f"aten::op{at % 7}", 1, "CPU") for at in range(1, 700)),
    Printed(700, 0, "\ud800 \\ \n"),
]
TRACE = Trace(HEADER, EVENTS)


def content(trace: Trace) -> tuple[Header, list[AnyEvent], list[int], list[int]]:
    columns = trace.columns
    return trace.header, list(trace), list(columns.lines), list(columns.operators)


@pytest.mark.parametrize(("before", "after"), [*itertools.product(SUFFIXES, SUFFIXES)])
def test_all_directions(before: str, after: str) -> None:
    opened = Trace.decoded(TRACE.encoded(before), "t")
    copy = Trace.decoded(opened.encoded(after), "t")
    assert not copy.notice
    assert content(copy) == content(opened) == content(TRACE)


@pytest.mark.parametrize("after", SUFFIXES)
def test_what_is_left_of_a_file_that_is_cut_off(after: str, tmp_path: Path) -> None:
    for before in (".dvtrace", ".jsonl"):
        raw = TRACE.encoded(before)
        cut = Trace.decoded(raw[: len(raw) // 5], "t")
        assert 0 < len(cut) < len(TRACE)
        cut.save(tmp_path / f"t{after}")
        copy = Trace.load(tmp_path / f"t{after}")
        assert not copy.notice
        assert list(copy) == EVENTS[: len(cut)]


@pytest.mark.parametrize("after", SUFFIXES)
def test_a_damaged_block_becomes_unknown_events(after: str) -> None:
    raw = bytearray(TRACE.encoded(".dvtrace"))
    raw[raw.index(b"aten::op0")] ^= 1
    damaged = Trace.decoded(bytes(raw), "t")
    copy = Trace.decoded(damaged.encoded(after), "t")
    assert [type(event) for event in copy] == [type(event) for event in damaged]
    assert isinstance(copy[5], Unknown)
    assert list(copy)[256:] == EVENTS[256:]


@pytest.mark.parametrize("after", SUFFIXES)
def test_a_kind_of_a_newer_version_stays_as_it_is(after: str) -> None:
    newer = TRACE.encoded(".jsonl") + b'["Danced",701,0,{"how":[1,2]}]\n'
    copy = Trace.decoded(Trace.decoded(newer, "t").encoded(after), "t")
    assert copy.encoded(".jsonl") == newer


def test_nothing_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Trace.decoded(TRACE.encoded(".dvtrace"), "t")

    def decoded(*_: object) -> None:
        raise AssertionError("a line was decoded")

    monkeypatch.setattr(module, "decode_lines", decoded)
    for suffix in SUFFIXES:
        assert opened.encoded(suffix) == TRACE.encoded(suffix)


@pytest.mark.parametrize(
    "raw", [b'["a"]\n', b'["a"]\n["b"]\n["c"]\n', b'["a"]\n{"b":1}\n', b'["a"]\n["\xff"]\n', b'["a"]\n\n']
)
def test_lines_that_are_not_those_of_two_events_are_not_copied(raw: bytes) -> None:
    assert not module._are_lines(raw, 2)
    assert module._are_lines(b'["a"]\n["b"]\n', 2)


def test_an_opened_trace_has_stored_events() -> None:
    assert isinstance(Trace.decoded(TRACE.encoded(".jsonl"), "t").events, StoredEvents)
