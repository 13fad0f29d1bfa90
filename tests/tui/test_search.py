"""Tests of the search for words of steps."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import AnyEvent, KernelReturned, NameBound, NodeCreated, SourceLine
from dispatchviz.running.program import run
from dispatchviz.testing import Pattern, node_created, redispatch
from dispatchviz.tui.commands.move_notes import hit_note
from dispatchviz.tui.widgets.step_list import StepList
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.step_search import Search
from tests.steps import all_hits, last_step, line, steps

from .synthetic import big, forum


def hits(search: Search) -> list[int]:
    return [at for at in range(last_step(forum()) + 1) if search.matches(at)]


def finds(search: Search, query: str, begin: int = 0) -> None:
    """Search to the end."""
    search.find(query, begin)
    while search.go_on():
        pass


def test_words_in_any_order_and_case_and_the_kind_of_the_step() -> None:
    search = Search(forum())
    finds(search, "ADD.tensor  Redispatch")
    assert hits(search) == steps(forum(), redispatch("aten::add.Tensor"))
    finds(search, "NodeCreated")
    assert hits(search) == steps(forum(), NodeCreated)
    finds(search, "nodecreated sum")
    assert hits(search) == steps(forum(), node_created("SumBackward0"))
    finds(search, "  ")
    assert hits(search) == []
    finds(search, "nodecreated")
    assert hits(search) == steps(forum(), NodeCreated)


@pytest.mark.parametrize("query", ["add", "add.tensor", "kernel", "no such thing", ""])
def test_narrowing_letter_by_letter_finds_the_same(query: str) -> None:
    typed, at_once = Search(forum()), Search(forum())
    for end in range(len(query) + 1):
        finds(typed, query[:end])
    finds(at_once, query)
    assert hits(typed) == hits(at_once)


def test_notes_count_hits_and_progress() -> None:
    search, cursor = Search(forum()), Cursor(forum())
    nodes = steps(forum(), NodeCreated)
    assert hit_note(search, cursor).plain.strip() == ""
    finds(search, "nodecreated")
    assert hit_note(search, cursor.goto(nodes[1]), "more").plain == f" Hit 2 of {len(nodes)}  more"
    assert hit_note(search, cursor.goto(nodes[1] + 1)).plain == f" {len(nodes)} hits  "
    hiding = cursor.filtered((nodes[1] + 1, nodes[1] + 2)).goto(nodes[1])
    assert hit_note(search, hiding, "more").plain == f" Hit 2 of {len(nodes)}  the filter hides this step  more"
    finds(search, "backwardstarted")
    assert hit_note(search, cursor).plain == " 1 hit  "
    finds(search, "[/]")
    assert hit_note(search, cursor.goto(nodes[1] + 1)).plain == " No step matches [/]"


def test_search_in_slices_knows_its_certain_hits() -> None:
    trace = big(20_000)
    returns, search = steps(trace, KernelReturned), Search(trace)
    middle = returns[len(returns) // 2]
    search.find("returns t", middle)
    assert search.go_on()
    assert not search.complete
    assert search.certain(middle, search.next(middle))
    assert search.next(middle) == returns[len(returns) // 2 + 1]
    assert not search.certain(middle, returns[0], forward=False)
    while search.go_on():
        pass
    assert list(search.hits()) == returns
    assert search.next(middle, forward=False) == returns[len(returns) // 2 - 1]
    assert (search.next(returns[-1]), search.next(returns[0], forward=False)) == (returns[0], returns[-1])


@pytest.mark.parametrize(
    "query", ["nodecreated", "dispatched", "aten::add.tensor dispatched", "created", "autogradcuda"]
)
def test_hits_by_kind_need_no_labels(query: str) -> None:
    search = Search(big(5_000))
    search.find(query)
    early = search.next(4_000)
    assert early is not None
    assert search.matches(early)
    while search.go_on():
        pass
    assert 4_000 < (search.next(4_000) or 0) <= early


@pytest.mark.parametrize(
    ("query", "named"), [("SumBackward0", node_created("SumBackward0")), ("backward0", NodeCreated), ("y", NameBound)]
)
def test_hits_by_variable_and_node_names_need_no_labels(query: str, named: Pattern | type[AnyEvent]) -> None:
    search, naming = Search(forum()), set(steps(forum(), named))
    search.find(query)
    early = hits(search)
    finds(search, query)
    assert naming.intersection(early) == naming.intersection(hits(search)) != set()
    assert set(early) <= set(hits(search))


def test_the_search_goes_backwards_from_where_the_reader_is() -> None:
    trace = big(20_000)
    search = Search(trace)
    search.find("returns t")
    search.look_from(10_000, forward=False)
    search.go_on()
    nearest = max(step for step in steps(trace, KernelReturned) if step < 10_000)
    assert search.next(10_000, forward=False) == nearest
    assert search.certain(10_000, nearest, forward=False)


def test_search_wraps_around_and_has_no_next_without_hits() -> None:
    search = Search(forum())
    finds(search, "sourceline")
    lines = steps(forum(), SourceLine)
    assert (search.next(lines[-1]), search.next(lines[-1], forward=False)) == (lines[0], lines[-2])
    assert search.next(lines[0], forward=False) == lines[-1]
    finds(search, "no such step anywhere")
    assert search.next(3) is None
    assert search.certain(3, None)


def test_list_taller_than_its_rows_shows_no_hits_below() -> None:
    search = Search(forum())
    search.find("event:NodeCreated")
    steps = StepList(Cursor(forum(), search=search))
    steps.port.resize(60, 5)
    bar = [steps.bar_cell(y).plain for y in range(1, 40)]
    assert set(bar[:4]) & {"├", "┣"}
    assert not set(bar[4:]) & {"├", "┣"}


def test_word_in_a_file_name_does_not_match_all_its_lines(tmp_path: Path) -> None:
    (tmp_path / "conv.py").write_text("import torch\nx = torch.ones(2)\ny = x * 2\nconvolved = y\n", encoding="utf-8")
    trace = run(str(tmp_path / "conv.py"), (), io.StringIO()).trace
    lines = [step for step in all_hits(trace, "conv") if isinstance(trace[step], ev.SourceLine)]
    assert lines == [line(trace, 4)]
    assert list(all_hits(trace, "conv.py:3")) == [line(trace, 3)]
    assert len(all_hits(trace, "file:conv.py event:sourceline")) == 4


def test_word_in_a_module_name_does_not_match_all_its_lines(tmp_path: Path) -> None:
    (tmp_path / "conv_module.py").write_text("def double(x):\n    y = x * 2\n    return y\n", encoding="utf-8")
    beside = "import sys\nsys.path.insert(0, sys.argv[1])\n"
    source = f"{beside}import torch\nimport conv_module as m\nm.double(torch.ones(2))\n"
    (tmp_path / "main.py").write_text(source, encoding="utf-8")
    trace = run(str(tmp_path / "main.py"), (str(tmp_path),), io.StringIO()).trace
    found = [trace[step] for step in all_hits(trace, "conv_module")]
    assert [event.line for event in found if isinstance(event, ev.SourceLine)] == [4]
