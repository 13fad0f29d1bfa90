"""A trace is a value: it cannot be changed, it can be copied and pickled."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.device.array_library import cuda_state, forget_cuda
from dispatchviz.core.record.events import AnyEvent, Dispatched, Printed, SourceLine, Unknown
from dispatchviz.core.record.trace_file import Header
from dispatchviz.core.record.trace_file import stored_events as module
from dispatchviz.core.record.trace_file.stored_events import StoredEvents
from dispatchviz.core.record.trace_file.writers import SUFFIXES
from dispatchviz.trace import Trace

from .packs import packs


def test_finished_recording_is_an_immutable_trace() -> None:
    with dispatchviz.record() as trace:
        torch.ones(1)
        before = len(trace)
        assert type(trace) is not Trace
        torch.ones(1)
    assert type(trace) is Trace
    assert type(trace.events) is tuple
    assert len(trace) > before
    with pytest.raises(AttributeError, match="cannot be changed"):
        trace.events = ()
    with pytest.raises(AttributeError, match="cannot be changed"):
        del trace.notice
    with pytest.raises(TypeError):
        trace.header.sources["x.py"] = ""  # type: ignore[index]
    with pytest.raises(AttributeError):
        trace.header.program = "other.py"  # type: ignore[misc]


def test_the_end_of_a_recording_does_not_look_for_a_gpu() -> None:
    forget_cuda()
    with dispatchviz.record("p.py") as trace:
        torch.ones(1, requires_grad=True).sum().backward()
    assert cuda_state.cache_info().currsize == 0  # else backwards would be prepared for Nodes of a GPU
    assert (trace.header.program, trace.header.cuda) == ("p.py", str(cuda_state()))
    assert trace.header is trace.header


def test_children_and_ancestors_of_interleaved_events() -> None:
    parents = (None, 0, 0, 1, 2, 1, None, 6)
    trace = Trace(Header(cuda="none", program="p.py"), [Printed(i, parent, "") for i, parent in enumerate(parents)])
    for seq in range(len(parents)):
        assert [event.seq for event in trace.children(seq)] == [i for i, p in enumerate(parents) if p == seq]
    assert [event.seq for event in trace.ancestors(5)] == [1, 0]
    assert tuple(trace.depths) == (0, 1, 1, 2, 2, 2, 0, 1)
    assert tuple(trace.ends) == (5, 5, 4, 3, 4, 5, 7, 7)


HEADER = Header(cuda="none", program="p.py", rank=3, sources={"p.py": "x = 1\n"})
EVENTS: list[AnyEvent] = [
    SourceLine(0, None, "p.py", 1),
    *(Dispatched(at, 0, "call", f"aten::op{at % 7}", 1, "CPU") for at in range(1, 5000)),
    Printed(5000, 0, "\ud800 \\ \n"),
]
TRACE = Trace(HEADER, EVENTS)


def content(trace: Trace) -> tuple[Header, list[AnyEvent], list[int], list[int]]:
    columns = trace.columns
    return trace.header, list(trace), list(columns.lines), list(columns.operators)


@pytest.mark.parametrize(("before", "after"), [*itertools.product(SUFFIXES, SUFFIXES)])
def test_two_traces_compare_in_all_directions(before: str, after: str) -> None:
    opened = Trace.decoded(TRACE.encoded(before), "t")
    copy = Trace.decoded(opened.encoded(after), "t")
    assert not copy.notice
    assert content(copy) == content(opened) == content(TRACE)


@pytest.mark.parametrize("after", SUFFIXES)
def test_file_that_is_cut_off_opens_up_to_the_cut(after: str, tmp_path: Path) -> None:
    for before in (".dvtrace", ".jsonl"):
        raw = TRACE.encoded(before)
        cut = Trace.decoded(raw[: packs(raw)[-1] if before == ".dvtrace" else len(raw) // 5], "t")
        assert 0 < len(cut) < len(TRACE)
        cut.save(tmp_path / f"t{after}")
        copy = Trace.load(tmp_path / f"t{after}")
        assert not copy.notice
        assert list(copy) == EVENTS[: len(cut)]


@pytest.mark.parametrize("after", SUFFIXES)
def test_a_damaged_block_becomes_unknown_events(after: str) -> None:
    raw = bytearray(TRACE.encoded(".dvtrace"))
    raw[packs(raw)[0] + 50] ^= 1
    damaged = Trace.decoded(bytes(raw), "t")
    copy = Trace.decoded(damaged.encoded(after), "t")
    assert [type(event) for event in copy] == [type(event) for event in damaged]
    assert isinstance(copy[5], Unknown)
    assert list(copy)[2048:] == EVENTS[2048:]


@pytest.mark.parametrize("after", SUFFIXES)
def test_kind_of_a_newer_version_is_saved_unchanged(after: str) -> None:
    newer = TRACE.encoded(".jsonl") + b'["Danced",5001,0,{"how":[1,2]}]\n'
    copy = Trace.decoded(Trace.decoded(newer, "t").encoded(after), "t")
    assert copy.encoded(".jsonl") == newer


def test_copying_a_file_decodes_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Trace.decoded(TRACE.encoded(".dvtrace"), "t")

    def decoded(*_: object) -> None:
        raise AssertionError("a line was decoded")

    monkeypatch.setattr(module, "decode_lines", decoded)
    for suffix in SUFFIXES:
        assert opened.encoded(suffix) == TRACE.encoded(suffix)


@pytest.mark.parametrize(
    "raw", [b'["a"]\n', b'["a"]\n["b"]\n["c"]\n', b'["a"]\n{"b":1}\n', b'["a"]\n["\xff"]\n', b'["a"]\n\n']
)
def test_only_text_with_a_line_per_event_is_copied(raw: bytes) -> None:
    assert not module._are_lines(raw, 2)
    assert module._are_lines(b'["a"]\n["b"]\n', 2)


def test_an_opened_trace_has_stored_events() -> None:
    assert isinstance(Trace.decoded(TRACE.encoded(".jsonl"), "t").events, StoredEvents)


def _recorded(save: Path | None = None) -> tuple[Trace, Trace, Trace]:
    """A trace after its recording, a pickled form and a copy, both made before its end."""
    with dispatchviz.record(save=save) as trace:
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        early, copied = pickle.loads(pickle.dumps(trace)), copy.deepcopy(trace)
        torch.zeros(2)
    return trace, early, copied  # type: ignore[return-value]


@pytest.mark.parametrize("save", [None, "t.dvtrace", "t.jsonl"])
def test_pickled_trace_has_all_events(save: str | None, tmp_path: Path) -> None:
    trace, early, copied = _recorded(None if save is None else tmp_path / save)
    for so_far in (early, copied):
        assert type(so_far) is type(trace)
        assert 0 < len(so_far) < len(trace)
        assert list(so_far) == list(trace)[: len(so_far)]
    loaded = dispatchviz.load(tmp_path / save) if save else trace
    for each in (trace, loaded):
        again = pickle.loads(pickle.dumps(each))
        assert type(again) is type(trace)
        assert list(again) == list(trace)
        assert again.header == trace.header
        assert again.notice == each.notice
    assert pickle.loads(pickle.dumps(loaded.events)) == tuple(trace.events)
    assert pickle.loads(pickle.dumps(trace.header)) == trace.header


def test_copy_of_a_trace_is_the_trace(tmp_path: Path) -> None:
    trace, _, _ = _recorded(tmp_path / "t.dvtrace")
    assert copy.copy(trace) is trace
    assert copy.deepcopy({"trace": trace})["trace"] is trace


def test_the_notice_of_a_trace_is_pickled_with_it(tmp_path: Path) -> None:
    with dispatchviz.record(limit=5) as trace:
        torch.ones(2) + 1
    assert "limit" in trace.notice
    assert pickle.loads(pickle.dumps(trace)).notice == trace.notice


@pytest.mark.long
def test_traces_can_be_passed_between_processes(tmp_path: Path) -> None:
    trace, _, _ = _recorded(tmp_path / "t.dvtrace")
    (tmp_path / "t.dvtrace").unlink()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        given_back = pool.submit(copy.copy, trace).result()
    assert list(given_back) == list(trace)
