"""Searching the words of steps."""

from __future__ import annotations

import pytest

from dispatchviz.core.record.events import KernelReturned, NodeCreated
from dispatchviz.testing import node_created, redispatch
from dispatchviz.tui.commands.move_notes import hit_note
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.cursor.step_search import Search
from tests.steps import last_step, step, steps

from .synthetic import big, forum


def hits(search: Search) -> list[int]:
    return [at for at in range(last_step(forum()) + 1) if search.matches(at)]


def test_words_in_any_order_and_case_and_the_kind_of_the_step() -> None:
    search = Search(forum())
    search.find("ADD.tensor  Redispatch")
    assert hits(search) == steps(forum(), redispatch("aten::add.Tensor"))
    search.find("NodeCreated")
    assert hits(search) == steps(forum(), NodeCreated)
    search.find("nodecreated sum")
    assert hits(search) == steps(forum(), node_created("SumBackward0"))
    search.find("  ")
    assert hits(search) == []
    search.find("nodecreated")
    assert hits(search) == steps(forum(), NodeCreated)


@pytest.mark.parametrize("query", ["add", "add.tensor", "kernel", "no such thing", ""])
def test_narrowing_letter_by_letter_finds_the_same(query: str) -> None:
    typed, at_once = Search(forum()), Search(forum())
    for end in range(len(query) + 1):
        typed.find(query[:end])
    at_once.find(query)
    assert hits(typed) == hits(at_once)


def test_notes() -> None:
    search, cursor = Search(forum()), Cursor(forum())
    nodes = steps(forum(), NodeCreated)
    assert hit_note(search, cursor).plain.strip() == ""
    search.find("nodecreated")
    assert hit_note(search, cursor.goto(nodes[1]), "more").plain == f" Hit 2 of {len(nodes)}  more"
    assert hit_note(search, cursor.goto(nodes[1] + 1)).plain == f" {len(nodes)} hits  "
    hiding = cursor.filtered((nodes[1] + 1, nodes[1] + 2)).goto(nodes[1])
    assert hit_note(search, hiding, "more").plain == f" Hit 2 of {len(nodes)}  the filter hides this step  more"
    search.find("[/]")
    assert hit_note(search, cursor.goto(nodes[1] + 1)).plain == " No step has [/]"


def test_texts_are_made_in_pieces() -> None:
    trace = big(5000)
    search = Search(trace)
    assert search.prepare()
    while search.prepare():
        pass
    search.find("returns")
    assert search.matches(step(trace, KernelReturned))
