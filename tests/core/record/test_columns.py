"""The columns of a trace agree with a walk over all events, and a file returns the same columns."""

from __future__ import annotations

import io
import random
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record.events import AnyEvent, Dispatched, NameBound, NodeCreated, Printed, SourceLine
from dispatchviz.core.record.trace_file import Header, index, nesting, writers
from dispatchviz.core.record.trace_file.column_builder import ColumnBuilder, columns_of
from dispatchviz.core.record.trace_file.columns import NONE, Columns, Groups
from dispatchviz.core.record.trace_file.event_lines import decode_some
from dispatchviz.core.record.trace_file.joined_columns import JoinedColumn, in_memory
from dispatchviz.core.record.trace_file.stored_events import some_events
from dispatchviz.core.record.trace_file.writers import SUFFIXES
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.trace import Trace

from .packs import packs

PER_EVENT = (
    "kinds", "parents", "depths", "ends", "siblings", "lines", "operators", "keys", "nodes", "tensors", "names",
)  # fmt: skip
GROUPS = ("of_kind", "of_node", "of_tensor", "of_name", "of_result", "of_storage", "of_detached", "of_call")


@pytest.fixture(scope="module")
def trace() -> Trace:
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x + x

    x = torch.ones(2, requires_grad=True)
    with dispatchviz.record() as recorded:
        for _ in range(20):
            y = twice(x)
            y.register_hook(lambda gradient: gradient * 2)
            y.sum().backward()
        print(x.grad)
    assert isinstance(recorded, Trace)
    return recorded


def interleaved(count: int) -> list[AnyEvent]:
    """Events within any earlier ones, as several threads may leave them."""
    chance = random.Random(count)
    events: list[AnyEvent] = []
    for seq in range(count):
        parent = chance.choice([None, *range(max(0, seq - 6), seq)])
        kind = chance.randrange(3)
        if kind == 0:
            events.append(SourceLine(seq, parent, "p.py", seq + 1))
        elif kind == 1:
            events.append(Dispatched(seq, parent, "call", chance.choice(["", "aten::add", "aten::mul"]), 1, "CPU"))
        else:
            events.append(Printed(seq, parent, "x"))
    return events


def walked(events: list[AnyEvent]) -> dict[str, list[int]]:
    """The depth, end, next sibling and line of each event, one after the other."""
    parents = [NONE if event.parent is None else event.parent for event in events]
    found: dict[str, list[int]] = {"parents": parents, "depths": [], "lines": []}
    last_line: dict[int, int] = {}
    for seq, (event, parent) in enumerate(zip(events, parents, strict=True)):
        found["depths"].append(0 if parent == NONE else found["depths"][parent] + 1)
        if isinstance(event, SourceLine):
            found["lines"].append(seq)
            last_line[parent] = seq
        else:
            found["lines"].append(NONE if parent == NONE else last_line.get(parent, found["lines"][parent]))
    ends = list(range(len(events)))
    for seq in reversed(range(len(events))):
        if parents[seq] != NONE:
            ends[parents[seq]] = max(ends[parents[seq]], ends[seq])
    return {**found, "ends": ends}


@pytest.mark.parametrize("count", [0, 1, 2, 17, 300])
def test_columns_agree_with_a_walk_over_events(count: int) -> None:
    events = interleaved(count)
    columns = columns_of(events)
    for name, expected in walked(events).items():
        assert list(getattr(columns, name)) == expected, name
    for seq, event in enumerate(events):
        assert [*columns.children(seq)] == [e.seq for e in events if e.parent == seq]
        operator = event.operator if isinstance(event, Dispatched) else ""
        number = columns.operators[seq]
        assert (columns.operator_names[number] if number != NONE else "") == operator


def test_columns_of_a_recording_agree_with_a_walk(trace: Trace) -> None:
    for name, expected in walked(list(trace)).items():
        assert list(getattr(trace.columns, name)) == expected, name
    made = [event.seq for event in trace if isinstance(event, NodeCreated)]
    assert list(trace.steps_of(NodeCreated)) == made
    both = [event.seq for event in trace if isinstance(event, NodeCreated | SourceLine)]
    assert list(trace.steps_of(SourceLine, NodeCreated)) == both
    for node, steps in trace.columns.of_node.items():
        assert list(steps) == [event.seq for event in trace if getattr(event, "node", None) == node]
    assert trace.columns.of_node.firsts == {steps[0] for steps in trace.columns.of_node.values()}
    for tensor, steps in trace.columns.of_tensor.items():
        assert list(steps) == [event.seq for event in trace if getattr(event, "tensor", None) == tensor]
    for storage, steps in trace.columns.of_storage.items():
        assert list(steps) == [event.seq for event in trace if getattr(event, "storage", None) == storage]
    for number, steps in trace.columns.of_name.items():
        text = trace.columns.name_texts[number]
        named = (event for event in trace if isinstance(event, NameBound | NodeCreated))
        assert list(steps) == [event.seq for event in named if event.name == text]


def test_calls_by_operator_and_key_in_the_order_in_which_they_were_met(trace: Trace) -> None:
    expected: dict[tuple[str, str], list[int]] = {}
    for event in trace:
        if isinstance(event, Dispatched):
            expected.setdefault((event.operator, event.key), []).append(event.seq)
    found = {(operator, key): list(steps) for operator, key, steps in trace.columns.calls()}
    assert list(found.items()) == list(expected.items())


def test_a_trace_that_grows_has_the_same_columns(trace: Trace) -> None:
    builder, events = ColumnBuilder(), list(trace)
    for begin in range(0, len(events), 7):
        builder.extend(events[begin : begin + 7])
    assert as_lists(builder.columns()) == as_lists(trace.columns)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_gives_back_events_columns_and_header(suffix: str, trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / f"t{suffix}")
    again = Trace.load(tmp_path / f"t{suffix}")
    assert (again.notice, again.header, list(again)) == ("", trace.header, list(trace))
    assert as_lists(again.columns) == as_lists(trace.columns)
    assert (again[3], again[-1], again[5:300:7]) == (trace[3], trace[-1], trace[5:300:7])
    with pytest.raises(IndexError):
        again[len(trace)]


@pytest.mark.parametrize("part", [0.15, 0.3, 0.6, 0.999])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_file_that_was_cut_off_opens_up_to_the_cut(suffix: str, part: float, trace: Trace, tmp_path: Path) -> None:
    whole = trace.encoded(suffix)
    cut = int(len(whole) * part)
    cut -= 2 * (b"\n" in whole[cut - 1 : cut + 1])  # a cut between two lines gives no notice
    (tmp_path / f"t{suffix}").write_bytes(whole[:cut])
    again = Trace.load(tmp_path / f"t{suffix}")
    assert list(again) == list(trace)[: len(again)]
    assert again.notice


def test_damaged_block_is_marked_and_the_rest_opens(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "BLOCKS_PER_PACK", 1)
    raw = bytearray(trace.encoded(".dvtrace"))
    raw[packs(raw)[0] + 50] ^= 1
    (tmp_path / "t.dvtrace").write_bytes(raw)
    again = Trace.load(tmp_path / "t.dvtrace")
    differing = [seq for seq, (one, other) in enumerate(zip(trace, again, strict=True)) if one != other]
    assert differing
    assert len(differing) <= 256
    assert all(type(again[seq]).__name__ == "Unknown" and again[seq].parent == trace[seq].parent for seq in differing)


@pytest.mark.parametrize("is_damaged", [False, True])
def test_some_events_equal_single_accesses(is_damaged: bool, trace: Trace, tmp_path: Path) -> None:
    raw = bytearray(trace.encoded(".dvtrace"))
    if is_damaged:
        raw[packs(raw)[0] + 50] ^= 1
    (tmp_path / "t.dvtrace").write_bytes(raw)
    looked_at = list(Trace.load(tmp_path / "t.dvtrace"))
    for steps in (range(0, len(trace), 7), range(3, len(trace), 300), [], [5], range(len(trace))):
        again = Trace.load(tmp_path / "t.dvtrace")
        found = list(some_events(again.events, steps))
        assert found == [again[step] for step in steps] == [looked_at[step] for step in steps]
        assert list(some_events(looked_at, steps)) == found


def test_unusual_lines_are_decoded_one_by_one(tmp_path: Path) -> None:
    """The line has text that is not UTF-8, an unknown kind, or the number of another event."""
    lines = [b'["NameBound",0,null,"\\ud800",3]', b'["Later",1,null,5]', b'["NameBound",3,null,"x",3]']
    assert decode_some(lines[:1], [0]) is None
    assert decode_some(lines[1:2], [1]) is None
    assert decode_some(lines[2:], [2]) is None


def as_lists(columns: Columns) -> dict[str, object]:
    per_event = {name: list(getattr(columns, name)) for name in PER_EVENT}
    groups = {name: {number: list(steps) for number, steps in getattr(columns, name).items()} for name in GROUPS}
    return {**per_event, **groups, "names": (columns.operator_names, columns.key_names, columns.kind_names)}


def test_call_with_an_invalid_operator_number_is_ignored(trace: Trace) -> None:
    calls = trace.columns.calls()
    of_call = trace.columns.of_call
    forged = Groups([-5, *of_call.numbers], [0, *(begin + 1 for begin in of_call.begins)], [0, *of_call.steps])
    assert calls
    found = replace(trace.columns, of_call=forged).calls()
    assert [(operator, key, list(steps)) for operator, key, steps in found] == [
        (operator, key, list(steps)) for operator, key, steps in calls
    ]


def test_graph_is_drawn_without_names_in_the_columns(trace: Trace) -> None:
    without = Trace(trace.header, trace.events, columns=replace(trace.columns, of_name=Groups([], [], [])))
    names = [[node.name for node in backward_graph(each, len(each) - 1)] for each in (trace, without)]
    assert names[0] == names[1] != []


# -- a file whose index is written in parts ----------------------------------------------------------------------------


PLAIN_HEADER = Header(cuda="", program="p.py")


def in_parts(events: list[AnyEvent], per_part: int, carried: int, monkeypatch: pytest.MonkeyPatch) -> Trace:
    """The trace in a file that gets a part of its index after every ``per_part`` events."""
    monkeypatch.setattr(nesting, "CARRIED", carried)
    return Trace.decoded(written_in_parts(events, per_part, monkeypatch), "p.dvtrace")


def written_in_parts(events: list[AnyEvent], per_part: int, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The bytes of this file, written as a recording writes it."""
    monkeypatch.setattr(writers, "EVENTS_PER_PART", per_part)
    stream = io.BytesIO()
    writer = writers.IndexedWriter(stream, PLAIN_HEADER)
    for begin in range(0, len(events), 7):
        writer.add(events[begin : begin + 7])
    writer.complete(PLAIN_HEADER)
    return stream.getvalue()


def assert_same_columns(found: Columns, expected: Columns) -> None:
    for name in (*PER_EVENT, "places", "callers"):
        assert list(getattr(found, name)) == list(getattr(expected, name)), name
    for name in ("kind_names", "operator_names", "key_names", "name_texts", "line_places"):
        assert getattr(found, name) == getattr(expected, name), name
    for name in GROUPS:
        looked_up, groups = getattr(found, name), getattr(expected, name)
        for number, steps in groups.items():
            assert list(looked_up[number]) == list(steps), name
        assert {number: list(steps) for number, steps in looked_up.all()} == {
            number: list(steps) for number, steps in groups.all()
        }
        assert [list(looked_up[number]) for number in groups] == [list(steps) for steps in groups.values()]


@pytest.mark.parametrize("per_part", [1, 7, 50])
@pytest.mark.parametrize("carried", [8, 1000])
def test_index_in_parts_equals_a_whole_one(
    trace: Trace, per_part: int, carried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = list(trace)[:400]
    found = in_parts(recorded, per_part, carried, monkeypatch)
    assert not found.notice
    assert list(found) == recorded
    assert_same_columns(found.columns, columns_of(recorded))
    read = in_memory(found.columns)
    assert not isinstance(read.kinds, JoinedColumn)
    assert_same_columns(read, columns_of(recorded))


@pytest.mark.parametrize("per_part", [1, 7, 50])
def test_an_index_in_parts_follows_threads_that_alternate(per_part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    events = interleaved(300)
    found = in_parts(events, per_part, 1000, monkeypatch)
    assert_same_columns(found.columns, columns_of(events))


@pytest.mark.parametrize("carried", [1, 3])
def test_incomplete_nesting_is_computed_from_the_parents(carried: int, monkeypatch: pytest.MonkeyPatch) -> None:
    events = interleaved(300)
    found = in_parts(events, 8, carried, monkeypatch)
    assert not isinstance(found.columns.ends, JoinedColumn)
    assert_same_columns(found.columns, columns_of(events))


def test_joined_column_is_sliced_like_a_list(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = list(trace)[:100]
    found, expected = in_parts(recorded, 7, 1000, monkeypatch).columns, columns_of(recorded)
    for name in ("tensors", "ends"):
        column, numbers = getattr(found, name), list(getattr(expected, name))
        assert list(np.asarray(column)) == numbers
        assert (column[-1], column[-100]) == (numbers[-1], numbers[0])
        for begin, end, step in ((0, 100, 1), (3, 60, 1), (14, 21, 1), (15, 16, 1), (50, 20, 1), (2, 90, 5)):
            assert list(column[begin:end:step]) == numbers[begin:end:step]
        for outside in (100, -101):
            with pytest.raises(IndexError):
                column[outside]


def test_opening_a_long_file_unpacks_only_parts_of_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "EVENTS_PER_PART", 1 << 12)
    monkeypatch.setattr(index, "CHECKED", 1 << 12)
    x = torch.ones(2, requires_grad=True)
    with dispatchviz.record(save=tmp_path / "long.dvtrace") as trace:
        for _ in range(600):
            x.mul(x).sum()
    middle = len(trace) // 2
    Trace.load(tmp_path / "long.dvtrace")  # what is imported then stays in memory
    tracemalloc.start()
    try:
        columns = Trace.load(tmp_path / "long.dvtrace").columns
        assert all(getattr(columns, name)[middle] >= NONE for name in PER_EVENT)
        assert all(getattr(columns, name).get(middle, ()) is not None for name in GROUPS)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(trace) > 20_000
    assert most < 16 * len(trace)  # all columns in memory would be 45


def test_a_file_that_was_cut_off_between_parts_opens(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = written_in_parts(list(trace), 50, monkeypatch)
    cut_off = Trace.decoded(raw[: raw.rindex(b"INDX")], "p.dvtrace")
    assert "cut off" in cut_off.notice
    assert list(cut_off) == list(trace)
    assert_same_columns(cut_off.columns, columns_of(list(trace)))


def test_a_file_with_a_damaged_part_of_its_index_opens_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    events = interleaved(9000)
    raw = bytearray(written_in_parts(events, 4096, monkeypatch))
    raw[raw.index(b"PART") + 2000] ^= 1
    damaged = Trace.decoded(bytes(raw), "p.dvtrace")
    assert list(damaged) == events
    assert damaged.notice


def test_saving_makes_the_columns_of_a_trace_only_once(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    read, extend = list[int](), ColumnBuilder.extend

    def counted(builder: ColumnBuilder, events: Sequence[AnyEvent]) -> None:
        read.append(len(events))
        extend(builder, events)

    monkeypatch.setattr(ColumnBuilder, "extend", counted)
    value = Trace(PLAIN_HEADER, list(trace))
    files = {value.encoded(".dvtrace") for _ in range(3)}
    assert read == [len(trace)]
    assert_same_columns(Trace.decoded(files.pop(), "p.dvtrace").columns, value.columns)
    assert not files


def test_a_long_trace_is_saved_in_parts_unless_its_columns_are_known(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "EVENTS_PER_PART", 50)
    value = Trace(PLAIN_HEADER, list(trace))
    first = value.encoded(".dvtrace")
    assert b"PART" in first
    assert_same_columns(Trace.decoded(first, "p.dvtrace").columns, value.columns)
    assert b"PART" not in value.encoded(".dvtrace")
