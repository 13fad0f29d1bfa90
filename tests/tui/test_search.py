"""Searching the words of steps."""

from __future__ import annotations

import pytest

from dispatchviz.tui.search import Search

from .synthetic import big, forum


def hits(search: Search) -> list[int]:
    return [at for at in range(62) if search.matches(at)]


def test_words_in_any_order_and_case_and_the_kind_of_the_step() -> None:
    search = Search(forum())
    search.ask("ADD.tensor  Redispatch")
    assert hits(search) == [21]
    search.ask("NodeCreated")
    assert hits(search) == [15, 16, 39]
    search.ask("nodecreated sum")
    assert hits(search) == [39]
    search.ask("  ")
    assert hits(search) == []
    search.ask("nodecreated")
    assert hits(search) == [15, 16, 39]


@pytest.mark.parametrize("query", ["add", "add.tensor", "kernel", "no such thing", ""])
def test_narrowing_letter_by_letter_finds_the_same(query: str) -> None:
    typed, asked = Search(forum()), Search(forum())
    for end in range(len(query) + 1):
        typed.ask(query[:end])
    asked.ask(query)
    assert hits(typed) == hits(asked)


def test_notes() -> None:
    search = Search(forum())
    assert search.note(0).plain.strip() == ""
    search.ask("nodecreated")
    assert search.note(16, "more").plain == " Hit 2 of 3  more"
    assert search.note(17).plain == " 3 hits  "
    search.ask("[/]")
    assert search.note(17).plain == " No step has [/]  " or search.note(17).plain == " No step has [/]"


def test_texts_are_made_in_pieces() -> None:
    trace = big(5000)
    search = Search(trace)
    assert search.prepare()
    while search.prepare():
        pass
    search.ask("returns")
    assert search.matches(next(event.seq for event in trace if type(event).__name__ == "KernelReturned"))
