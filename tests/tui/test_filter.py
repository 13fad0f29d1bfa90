"""The filter: always seen, and never in the way of whoever asks for one step."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.tui.breakpoints import Breakpoint
from dispatchviz.tui.cursor import Cursor

from .screens import SIZES, Reader, read
from .synthetic import forum

SHOWN = (10, 20, 30)


def filtered(at: int = 0) -> Cursor:
    return Cursor(forum(), at).filtered(SHOWN, "words")


def test_who_asks_for_a_hidden_step_gets_it_and_it_is_listed() -> None:
    there = filtered().goto(25)
    assert (there.at, there.hidden, tuple(there.rows)) == (25, True, (10, 20, 25, 30))
    assert (there.into().at, there.into_back().at) == (30, 20)
    assert tuple(there.into().rows) == SHOWN
    assert there.undo().at == 10
    assert there.caller().at == Cursor(forum(), 25).caller().at
    assert filtered().goto(35).into().at == 35
    assert filtered().goto(5).into_back().at == 5


def test_a_page_counts_the_rows_that_are_listed() -> None:
    assert [filtered().page(rows).at for rows in (1, 2, 9, -9)] == [20, 30, 30, 10]
    assert Cursor(forum(), 5).page(20).at == 25


def test_stops_that_somebody_set_are_not_passed_by_and_hidden_lines_are() -> None:
    trace = forum()
    node = next(event.seq for event in trace if isinstance(event, ev.NodeCreated))
    stopping = Cursor(trace, breakpoints=(Breakpoint("event", "NodeCreated"),)).filtered(SHOWN)
    assert node not in SHOWN
    assert stopping.resume().at == node
    assert Cursor(trace, marks=frozenset({17})).filtered(SHOWN).resume().at == 17
    line = next(event.seq for event in trace if isinstance(event, ev.SourceLine) and event.seq > 10)
    assert line not in SHOWN
    assert filtered().resume().at == min((step for step in SHOWN if step > line), default=SHOWN[-1])


@pytest.mark.parametrize("size", [*SIZES, (60, 15)])
def test_a_filter_is_seen_as_long_as_it_is_there(size: tuple[int, int]) -> None:
    async def story(reader: Reader) -> None:
        assert not reader.sees("filter:")
        await reader.press("f", *"nodecreated", "enter")
        for keys in (["s"], ["2"], ["enter"], ["escape"], ["g"], ["slash", "escape"]):
            await reader.press(*keys)
            assert reader.sees("filter: nodecreated 3/62"), (keys, reader.text)
        await reader.press("f", "enter")
        assert not reader.sees("filter:")

    read(forum(), story, size)


def test_a_search_finds_hidden_steps_and_says_that_they_are() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("f", *"nodecreated", "enter")
        await reader.press("slash", *"redispatch", "enter")
        assert reader.at == 21
        assert reader.sees("Hit 1 of 1  the filter hides this step", "▶ 21 ", "filter: nodecreated 3/62")
        await reader.press("s")
        assert reader.at == 39
        assert not any(row.startswith("  21 ") for row in reader.screen)
        await reader.press("colon", *"17", "enter")
        assert reader.at == 17
        assert reader.sees("From step 39 to step 17, which the filter hides", "▶ 17 ")

    read(forum(), story)


def test_the_end_of_what_the_filter_shows_is_told() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("f", *"nodecreated", "enter", "S")
        assert reader.sees("The filter shows no earlier step")
        await reader.press("G", "s")
        assert reader.sees("The filter shows no later step")
        await reader.press("c", "c", "c", "c", "c")
        assert reader.sees("No line, mark or error after that: this is the last step that the filter shows")

    read(forum(), story)
