"""Trace files that are damaged or forged: the events before the damage open, and nothing in a file is trusted."""

from __future__ import annotations

import gzip
import os
import typing
from pathlib import Path

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import field_types
from dispatchviz.core.record.trace_file import Trace, TraceError
from dispatchviz.core.record.trace_file.blocks import EVENTS, INDEX, block
from dispatchviz.core.record.trace_file.columns import Groups
from dispatchviz.core.record.trace_file.event_lines import LONGEST
from dispatchviz.core.record.trace_file.packing import Packer

from .forged_index import ForgedIndex

HEAD = b'{"format":2,"cuda":"","program":"x.py"}\n'
LINES = tuple(b'["Boxed",%d,null,"aten::add",1]\n' % seq for seq in range(4))
PLAIN = Path(__file__).parents[2] / "data" / "trace_of_format_3.dvtrace"
"""A file whose columns are not packed."""


def opened(*lines: bytes) -> Trace:
    return Trace.decoded(b"".join((HEAD, *lines)), "file")


def test_every_number_of_an_event_has_bounds() -> None:
    kinds = typing.get_args(ev.AnyEvent)
    found = {kind.__name__: typing.get_type_hints(kind, include_extras=True) for kind in kinds}
    plain = [f"{kind}.{name}" for kind, hints in found.items() for name, hint in hints.items() if _has_plain_int(hint)]
    assert plain == []


def _has_plain_int(hint: object) -> bool:
    if typing.get_origin(hint) is typing.Annotated:
        return False
    return hint is int or any(map(_has_plain_int, typing.get_args(hint)))


@pytest.mark.parametrize(
    "line",
    [
        b'["Dispatched",0,null,"call","aten::add",9223372036854775808,"CPU"]\n',
        b'["Dispatched",0,null,"call","aten::add",4611686018427387904,"CPU"]\n',
        b'["HistorySet",0,null,0,0,4294967296]\n',
        b'["HistorySet",0,null,-1,0,0]\n',
        b'["NameBound",0,null,"x",1e3]\n',
        b'["TensorCreated",0,null,0,"new",[-1],[1],"torch.float32","cpu",1,0,false,false]\n',
    ],
)
def test_value_out_of_bounds_is_shown_unchanged(line: bytes) -> None:
    trace = opened(line)
    assert isinstance(trace[0], ev.Unknown)
    assert "a value at step 0 that this version does not know" in trace.notice


def test_largest_values_are_within_the_bounds() -> None:
    key_set, output = (getattr(field_types, name).__metadata__[0].le for name in ("KeySet", "OutputNumber"))
    trace = opened(
        b'["Dispatched",0,null,"call","aten::add",%d,"CPU"]\n' % key_set,
        b'["HistorySet",1,null,0,0,%d]\n' % output,
        b'["NodeCreated",2,null,0,"AccumulateGrad",%d,0,1]\n' % (2**64 - 1),
    )
    assert not trace.notice
    assert [type(event) for event in trace] == [ev.Dispatched, ev.HistorySet, ev.NodeCreated]


@pytest.mark.parametrize(
    "damage",
    [b"", b"\n", b"{\n", b"[" * 100_000 + b"\n", b"\xff\xfe\n", b'{"format":2}\n', b"9" * 5000 + b"\n", LINES[0]],
    ids=["nothing", "blank", "brace", "deep", "no text", "no header", "digits", "out of order"],
)
def test_events_before_the_damage_open(damage: bytes) -> None:
    trace = opened(*LINES[:2], damage, *LINES[3:])
    assert len(trace) == 2
    assert trace.notice == "file is cut off: it opens up to step 1"


def test_file_without_events_has_a_notice() -> None:
    trace = opened(b"\n")
    assert (len(trace), trace.notice) == (0, "file is cut off: none of its steps can be read")


@pytest.mark.parametrize("suffix", [".jsonl", ".dvtrace"])
def test_lone_surrogates_are_kept(suffix: str) -> None:
    head = b'{"format":2,"cuda":"","program":"\\udce4.py"}\n'
    trace = Trace.decoded(head + b'["Boxed",0,null,"aten::\\ud800",1]\n', "file")
    again = Trace.decoded(trace.encoded(suffix), "file")
    assert (again.notice, list(again), again.header.program) == ("", list(trace), "\udce4.py")


def test_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatchviz.core.record.trace_file.reader.MOST_UNPACKED", 1 << 20)
    file = tmp_path / "bomb.jsonl.gz"
    file.write_bytes(gzip.compress(HEAD + b"0" * (5 << 20)))
    with pytest.raises(TraceError, match="unpacks to more than 1 MB"):
        Trace.load(file)


def test_gzip_members_are_one_file() -> None:
    raw = gzip.compress(HEAD + LINES[0]) + gzip.compress(b"".join(LINES[1:]))
    assert [len(Trace.decoded(each, "file")) for each in (raw, raw[:-3], raw + b"junk")] == [4, 4, 4]


@pytest.mark.parametrize("name", ["folder", "pipe", "/dev/zero", "/dev/null", "missing", "loop"])
def test_path_that_is_not_a_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.dvtrace"
    match name:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "/dev/zero" | "/dev/null":
            path = Path(name)
    with pytest.raises(TraceError) as error:
        Trace.load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("wrong", [b"\x00\x00\x00\x7f", b"\xfe\xff\xff\xff", b"\xff\xff\xff\x7f"])
def test_index_with_steps_outside_of_the_trace_is_ignored(wrong: bytes) -> None:
    trace = opened(*LINES)
    forged, columns_used = ForgedIndex(trace.encoded(".dvtrace")), 0
    for place in range(0, len(forged.content) - 4, 4):
        content = forged.content[:place] + wrong + forged.content[place + 4 :]
        found = Trace.decoded(forged.file(content), "file")
        columns_used += not found.notice
        assert all(0 <= end < len(found) for end in found.ends)
        assert all(0 <= depth < len(found) for depth in found.depths)
        assert all(0 <= code < len(found.columns.kind_names) for code in found.columns.of_kind)
        assert list(found) == list(trace) or isinstance(found[0], ev.Unknown)
    assert columns_used


@pytest.mark.parametrize("is_packed", [False, True])
def test_every_number_of_an_index_is_found(is_packed: bool) -> None:
    with dispatchviz.record() as recorded:
        x = torch.ones(2, requires_grad=True)
        (x * x).sum()
    forged = ForgedIndex(recorded.encoded(".dvtrace") if is_packed else PLAIN.read_bytes())
    assert Trace.decoded(forged.file(forged.content), "file").notice == ""
    for place in range(0, len(forged.content) - 8, 4):
        one, other = forged.content[place : place + 4], forged.content[place + 4 : place + 8]
        content = forged.content[:place] + other + one + forged.content[place + 8 :]
        columns = Trace.decoded(forged.file(content), "file").columns
        for groups in (each for each in vars(columns).values() if isinstance(each, Groups)):
            assert [number in groups for number in groups] == [True] * len(groups)
            assert list(groups.all()) == list(groups.items())


def test_pack_of_more_than_any_line_is_damaged() -> None:
    raw = opened(*LINES).encoded(".dvtrace")
    begin, end = raw.index(EVENTS), raw.index(INDEX)
    bomb = block(EVENTS, Packer().packed(bytes(LONGEST + 1)), 4)
    trace = Trace.decoded(raw[:begin] + bomb + raw[end:], "file")
    assert len(bomb) < 1 << 16
    assert all(isinstance(event, ev.Unknown) for event in trace)
