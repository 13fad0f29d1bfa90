"""Tests of the fields of a search, compared with the events; phrases, sentences, files; the marks of hits."""

from __future__ import annotations

from functools import cache

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.tui.commands.move_notes import nothing_has
from dispatchviz.tui.commands.searching import meanwhile
from dispatchviz.views.cursor.search_fields import NAMING, tensors_in
from dispatchviz.views.cursor.search_query import FIELDS, Query, query_of
from dispatchviz.views.cursor.step_search import Search, still_hits
from dispatchviz.views.cursor.unknown_names import unknown_name
from dispatchviz.views.session import Session
from tests.explain.programs import traced
from tests.steps import all_hits, line, steps
from truth.programs import PROGRAMS

from .screens import stepper
from .synthetic import big, forum
from .test_breakpoints import LOOP

SAMPLE = [*PROGRAMS][40::80]


@cache
def program(name: str) -> Trace:
    return traced(LOOP) if name == "loop" else traced(f"import torch\n{PROGRAMS[name]}")


# -- what a text means -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "query"), [
    ("", Query()),
    ("ADD tensor", Query(("add", "tensor"))),
    ('"returns  Z" add', Query(("returns z", "add"))),
    ('add"returns z', Query(("add", "returns z"))),
    ('"not closed', Query(("not closed",))),
    ("key:CUDA node:Mul", Query((), (("key", "CUDA"), ("node", "Mul")))),
    ("KEY:CUDA x", Query(("x",), (("key", "CUDA"),))),
    ('file:"my file.py" says:"a leaf"', Query((), (("file", "my file.py"), ("says", "a leaf")))),
    ("op:aten::add.Tensor", Query((), (("op", "aten::add.Tensor"),))),
    ("aten::add a:b", Query(("aten::add", "a:b"))),
    ('key: "" says:""', Query()),
    ("no Node: d", Query(("no", "node:", "d"))),
    ("no Node:", Query(("no",))),
    ("forum.py:6", Query(("forum.py:6",))),
])  # fmt: skip
def test_query_is_parsed_into_terms(text: str, query: Query) -> None:
    assert query_of(text) == query
    assert bool(query_of(text)) == (text not in ("", 'key: "" says:""'))


# -- fields ------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_every_field_finds_the_matching_events() -> None:
    compared = 0
    for name in (*SAMPLE, "loop"):
        trace = program(name)
        for text, found in wanted(trace).items():
            assert list(all_hits(trace, text)) == sorted(found), (name, text)
            compared += bool(found)
    assert compared > 200


def wanted(trace: Trace) -> dict[str, set[int]]:
    """Queries of one field, with the steps found by reading the events."""
    found: dict[str, set[int]] = {}
    for event in trace:
        found.setdefault(f"event:{type(event).__name__}", set()).add(event.seq)
        if (key := getattr(event, "key", "")) and isinstance(key, str):
            found.setdefault(f"key:{key}", set()).add(event.seq)
        if operator := getattr(event, "operator", ""):
            found.setdefault(f"op:{operator.partition('.')[0]}", set()).add(event.seq)
            if "." in operator:
                found.setdefault(f"op:{operator.removeprefix('aten::')}", set()).add(event.seq)
        if (number := getattr(event, "node", None)) is not None:
            found.setdefault(f"node:n{number}", set()).add(event.seq)
        for tensor in {*tensors_in(event), getattr(event, "result", None)} - {None}:
            found.setdefault(f"tensor:t{tensor}", set()).add(event.seq)
    return found | _of_names(trace, found) | _of_lines(trace)


def _of_names(trace: Trace, found: dict[str, set[int]]) -> dict[str, set[int]]:
    named: dict[str, set[int]] = {}
    for event in trace:
        if isinstance(event, ev.NodeCreated):
            named.setdefault(f"node:{event.name.rpartition('::')[2]}", set()).update(found[f"node:n{event.node}"])
        if isinstance(event, ev.NameBound) and "." not in event.name:
            named.setdefault(f"tensor:{event.name}", set()).update(found[f"tensor:t{event.tensor}"])
    return named


def _of_lines(trace: Trace) -> dict[str, set[int]]:
    """The steps on lines. A step is on its enclosing line, and on those from which that line's function was called."""
    found: dict[str, set[int]] = {}
    for event in trace:
        last = trace.columns.lines[event.seq]
        own = trace[last] if last >= 0 else None
        while isinstance(own, ev.SourceLine):
            found.setdefault(f"line:{own.line}", set()).add(event.seq)
            found.setdefault(f"line:{own.file}:{own.line}", set()).add(event.seq)
            found.setdefault(f"file:{own.file}", set()).add(event.seq)
            own = None if own.caller is None else trace[own.caller]
    return found


def test_value_matches_a_whole_name_or_else_parts_of_names() -> None:
    trace = forum()
    for value, key in (("cuda", "CUDA"), ("aut", "AutogradCUDA")):
        assert list(all_hits(trace, f"key:{value}")) == [at for at in range(len(trace)) if _key(trace, at) == key] != []
    sums = [e.seq for e in trace if getattr(e, "node", None) == 2]
    assert list(all_hits(trace, "node:sum")) == list(all_hits(trace, "node:SumBackward0")) == sums != []
    assert list(all_hits(trace, "op:add.Tensor")) == list(all_hits(trace, "op:aten::add")) != []
    assert list(all_hits(trace, "key:XLA")) == []


def _key(trace: Trace, at: int) -> str:
    return getattr(trace[at], "key", "")


def test_all_terms_are_required() -> None:
    trace = program("loop")
    both = set(all_hits(trace, "line:7")) & set(all_hits(trace, "key:CPU"))
    assert list(all_hits(trace, "key:CPU line:7")) == sorted(both) != []
    words = [at for at in both if "redispatch" in label(trace, at)]
    assert list(all_hits(trace, "redispatch line:7 key:CPU")) == sorted(words) != []
    assert list(all_hits(trace, "key:CPU key:AutogradCPU")) == []


def test_phrase_matches_its_words_in_order() -> None:
    trace = program("loop")
    assert list(all_hits(trace, "aten::add_ redispatch")) == list(all_hits(trace, '"redispatch aten::add_"')) != []
    assert list(all_hits(trace, '"aten::add_ redispatch"')) == []


def test_sentences_are_searched_if_no_label_matches() -> None:
    trace = forum()
    said = [at for at in range(len(trace)) if "highest" in why_here(trace, at)]
    assert not any("highest" in label(trace, at) for at in range(len(trace)))
    search = Search(trace)
    search.find("highest")
    while search.go_on():
        pass
    assert search.in_sentences
    assert set(said) <= set(search.hits())
    assert list(all_hits(trace, "says:highest")) == said
    assert list(all_hits(trace, "says:highest event:KernelSelected")) == [
        at for at in said if isinstance(trace[at], ev.KernelSelected)
    ]


def test_files_of_the_program_and_of_pytorch() -> None:
    trace = forum()
    assert list(all_hits(trace, "forum.py:6")) == [line(trace, 6)]
    assert list(all_hits(trace, "file:VariableType_2.cpp")) == steps(trace, ev.KernelEntered)[:1] + [
        at for at in steps(trace, ev.KernelEntered)[1:] if "VariableType_2" in trace[at].pytorch_file
    ]
    assert list(all_hits(trace, "VariableFallbackKernel.cpp")) != []


def test_every_event_field_with_tensors_is_known() -> None:
    for kind in ev.KINDS:
        with_tensors = {name for name, text in kind.__annotations__.items() if "TensorNumber" in text}
        assert set(NAMING.get(kind.__name__, ())) == with_tensors, kind


def test_hits_by_columns_are_immediate_and_others_come_in_slices() -> None:
    trace = big(20_000)
    search = Search(trace)
    search.find("key:CUDA")
    assert search.complete
    assert list(search.hits()) == [at for at in range(len(trace)) if _key(trace, at) == "CUDA"]
    search.find("key:CUDA cell", 10_000)
    assert not search.complete
    search.go_on()
    near = search.next(10_000)
    assert near == min(at for at in steps(trace, ev.KernelSelected) if at > 10_000 and trace[at].key == "CUDA")
    while search.go_on():
        pass
    assert search.between(0, len(trace)) == search.found == len(search.hits())


def test_search_begins_near_the_reader() -> None:
    trace = big(20_000)
    session = Session(trace)
    session.search.find("returns")
    session.search.go_on()
    session.cursor = session.cursor.goto(15_000)
    assert not session.search.between(15_000, 15_100)
    next_slice = meanwhile(session, lambda: None)
    assert next_slice is not None
    next_slice()
    assert session.search.between(15_000, 15_100) == sum(
        15_000 <= at <= 15_100 for at in steps(trace, ev.KernelReturned)
    )


def test_hits_between_two_steps_are_counted() -> None:
    search, trace = Search(big(3_000)), big(3_000)
    search.find("event:KernelReturned")
    returned = steps(trace, ev.KernelReturned)
    for begin, end in ((0, 0), (returned[0], returned[0]), (returned[3], returned[90]), (128, 255), (500, 2_999)):
        assert search.between(begin, end) == sum(begin <= at <= end for at in returned)


@pytest.mark.parametrize("query", ["key:CUDA", "add", "highest", "line:6 add", "tensor:x"])
def test_filter_of_growing_trace_equals_filter_of_whole_trace(query: str) -> None:
    trace = forum()
    part = Trace(trace.header, [trace[at] for at in range(len(trace) // 2)])
    assert still_hits(trace, query, all_hits(part, query), len(part)) == list(all_hits(trace, query))


@pytest.mark.parametrize(("query", "why"), [
    ("key:XLA", "key must be one of AutogradCUDA, CUDA"),
    ("node:MulBackward0", "node must be one of SumBackward0, AddBackward0, AccumulateGrad"),
    ("op:xlogy", "op must be one of add, sum"),
    ("tensor:w", "tensor must be one of x, y, z"),
    ("key:CUDA node:n99", ""),
    ("key:CUDA add", ""),
    ("words", ""),
])  # fmt: skip
def test_unknown_name_is_reported_with_existing_names(query: str, why: str) -> None:
    assert unknown_name(forum(), query) == why
    assert nothing_has(forum(), query) == f"No step matches {query}{why and ': '}{why}"


# -- the screen --------------------------------------------------------------------------------------------------------


@pytest.mark.long
async def test_hits_are_marked_in_the_list_and_in_its_scroll_bar() -> None:
    trace = forum()
    hits = list(all_hits(trace, "node:AddBackward0"))
    async with stepper(trace, (80, 24)) as reader:
        await reader.press("slash", *"node:AddBackward0", "enter")
        assert reader.at == hits[0]
        assert reader.sees(f"/node:AddBackward0: hit 1/{len(hits)}")
        await reader.press("full_stop")
        assert reader.sees(f"/node:AddBackward0: hit 2/{len(hits)}")
        shown = {int(row[2:].split()[0]): row for row in reader.screen if row[2:].split()[:1][0:] and _numbered(row)}
        assert {at for at, row in shown.items() if row[0] == "*"} == set(hits).intersection(shown) - {reader.at}
        assert any("├" in row or "┣" in row for row in reader.screen)
        await reader.press("s")
        assert reader.sees(f"/node:AddBackward0: {len(hits)} hits") or reader.at in hits
        await reader.press("slash", "enter")
        assert reader.sees("Search cleared")
        assert not any(row.startswith("*") for row in reader.screen)
        assert not reader.sees("/node:")


def _numbered(row: str) -> bool:
    return row[2:].split()[0].isdigit() and row[0] in " *▶"


@pytest.mark.long
async def test_folded_rows_count_the_hits_in_them() -> None:
    trace = forum()
    inside = [at for at in all_hits(trace, "event:NodeCreated") if line(trace, 7) <= at]
    async with stepper(trace, (80, 24), level=1) as reader:
        await reader.press("slash", *"event:NodeCreated", "enter", "g")
        row = next(row for row in reader.screen if "z.sum().backward()" in row)
        assert row.startswith("*")
        assert f"{len(inside)} hit" in row
        assert next(row for row in reader.screen if "x.requires_grad_" in row).startswith(" ")


@pytest.mark.long
async def test_search_continues_while_the_reader_moves() -> None:
    trace = big(5_000)
    found = len(steps(trace, ev.KernelReturned))
    async with stepper(trace) as reader:
        await reader.press("slash", *"returns", "enter", "s", "s")
        await reader.until(lambda: reader.sees(f"/returns: {found} hits"))
        assert reader.app.session.search.complete


async def test_the_hint_names_the_fields() -> None:
    async with stepper(forum(), (80, 24)) as reader:
        for key in ("slash", "f"):
            await reader.press(key)
            assert all(f"{field}:" in reader.screen[-1] for field in FIELDS)
            await reader.press("escape")
