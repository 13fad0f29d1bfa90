"""Tests of the filter: it is always visible, and a requested step is always shown."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.testing import redispatch
from dispatchviz.views.cursor.breakpoints.breakpoint import Breakpoint
from dispatchviz.views.cursor.cursor import Cursor
from tests.steps import line, step, steps

from .screens import SIZES, stepper
from .synthetic import forum

pytestmark = pytest.mark.long

SHOWN = (10, 20, 30)
"""The steps of a filter, which may be any."""

NODES = len(steps(forum(), ev.NodeCreated))


def filtered(at: int = 0) -> Cursor:
    return Cursor(forum(), at).filtered(SHOWN, "words")


def test_requested_hidden_step_is_shown_and_listed() -> None:
    there = filtered().goto(25)
    assert (there.at, there.hidden, tuple(there.rows)) == (25, True, (10, 20, 25, 30))
    assert (there.into().at, there.into_back().at) == (30, 20)
    assert tuple(there.into().rows) == SHOWN
    assert there.undo().at == 10
    assert there.caller().at == Cursor(forum(), 25).caller().at
    assert filtered().goto(35).into().at == 35
    assert filtered().goto(5).into_back().at == 5


def test_page_counts_listed_rows() -> None:
    assert [filtered().page(rows).at for rows in (1, 2, 9, -9)] == [20, 30, 30, 10]
    assert Cursor(forum(), 5).page(20).at == 25


def test_resume_stops_at_hidden_marks_but_not_at_hidden_lines() -> None:
    trace = forum()
    node, hidden = step(trace, ev.NodeCreated), step(trace, ev.KernelReturned)
    shown = (node - 1, line(trace, 7) + 1)
    stopping = Cursor(trace, breakpoints=(Breakpoint("event", "NodeCreated"),)).filtered(shown)
    assert stopping.resume().at == node
    assert Cursor(trace, marks=frozenset({hidden})).filtered(shown).resume().at == hidden
    before = Cursor(trace, node - 1)
    assert before.filtered(shown).resume().at == shown[1], "line 7 is hidden, what follows it is not"
    assert before.filtered((node - 1, node + 1)).resume().at == node + 1, "nothing past line 7 is shown"


@pytest.mark.parametrize("size", [*SIZES, (60, 15)])
async def test_active_filter_is_shown_in_the_header(size: tuple[int, int]) -> None:
    async with stepper(forum(), size) as reader:
        assert not reader.sees("filter:")
        await reader.press("f", *"nodecreated", "enter")
        for keys in (["s"], ["2"], ["enter"], ["escape"], ["g"], ["slash", "escape"]):
            await reader.press(*keys)
            assert reader.sees(f"filter: nodecreated  {NODES} of {len(forum())} steps · f Enter clears"), (
                keys,
                reader.text,
            )
        await reader.press("f", "enter")
        assert not reader.sees("filter:")


async def test_search_finds_hidden_steps_and_reports_them() -> None:
    trace = forum()
    found, hidden = step(trace, redispatch()), step(trace, ev.AccumulatorMade)
    after = step(trace, ev.NodeCreated, after=found)
    async with stepper(trace) as reader:
        await reader.press("f", *"nodecreated", "enter")
        await reader.press("slash", *"redispatch", "enter")
        assert reader.at == found
        assert reader.sees(
            "Hit 1 of 1  the filter hides this step", f"▶ {found} ", f"filter: nodecreated  {NODES} of {len(trace)}"
        )
        await reader.press("s")
        assert reader.at == after
        assert not any(row.startswith(f"  {found} ") for row in reader.screen)
        await reader.press("colon", *str(hidden), "enter")
        assert reader.at == hidden
        assert reader.sees(f"From step {after} to step {hidden}, which the filter hides", f"▶ {hidden} ")
        await reader.press("g", "S")
        assert reader.sees("The filter shows no earlier step")
        await reader.press("G", "s")
        assert reader.sees("The filter shows no later step")
        await reader.press("c", "c", "c", "c", "c")
        assert reader.sees("No more line, mark or error after that. This is the last step that the filter shows")
