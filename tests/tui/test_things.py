"""Tests of questions about a tensor or Node, the chosen row of a pane, crosses between forward and backward, visited
places.
"""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.things.thing import TensorThing
from dispatchviz.testing import event
from dispatchviz.tui.screens.cell_screen import CellScreen
from dispatchviz.tui.screens.places_screen import PlacesScreen
from dispatchviz.tui.screens.things_screen import ThingsScreen
from dispatchviz.views.keymap import pane_key
from dispatchviz.views.layout.pane_layout import CALLS, ENGINE, GRAPH, KEYS, OUTPUT, PANES, STEPS, TABLE, TENSORS
from dispatchviz.views.panes import structured_pane
from dispatchviz.views.panes.chosen_rows import leads_somewhere
from tests.explain.programs import traced
from tests.steps import last_step, line, step

from .screens import SIZES, stepper

PROGRAM = """
import torch
x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2)
row = w.view(2, 1)
y = x * w
w.add_(1)
with torch.no_grad():
    q = x * 3
unused = x + 1
loss = (x * x).sum()
loss.backward()
print(x.grad)
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traced(PROGRAM)


async def test_line_offers_questions_about_its_variables(trace: Trace) -> None:
    async with stepper(trace, step=line(trace, 6), level=DEFAULT) as reader:
        await reader.press("i")
        assert isinstance(reader.app.screen, ThingsScreen)
        assert reader.sees("y (t3)  [2, 2] float32 on cpu", "Who made it?", "made by mul.Tensor", "line 6  y = x * w")
        assert reader.sees(
            "its grad_fn is MulBackward0", "What else is here?", "Who saved it for backward?  no Node saved it"
        )
        await reader.press("enter")
        assert isinstance(trace[reader.at], ev.TensorCreated)
        assert reader.sees(f"From step {line(trace, 6)} to step {reader.at}")
        await reader.press("backspace")
        assert reader.at == line(trace, 6)


async def test_answers_offer_further_questions(trace: Trace) -> None:
    async with stepper(trace, step=line(trace, 6), level=DEFAULT) as reader:
        await reader.press("i", "down", "i")
        assert reader.sees("What did it save?", "w as other (version 0)", "[0] (AccumulateGrad (x), 0) for self")
        await reader.press("backspace")
        assert reader.sees("y (t3)", "▶   its grad_fn is MulBackward0"), "back at the row that was chosen"
        await reader.press("tab")
        assert reader.sees("a leaf; AccumulateGrad (x) writes its .grad")
        await reader.press("shift+tab", "end", "enter")
        assert reader.sees("What did it save?"), "what is here has no step: it is asked"
        await reader.press("escape")
        assert not isinstance(reader.app.screen, ThingsScreen)
        assert reader.at == line(trace, 6)


async def test_argument_in_key_set_pane_offers_questions(trace: Trace) -> None:
    computed = next(at for at in range(line(trace, 6), len(trace)) if isinstance(trace[at], ev.KeySetComputed))
    async with stepper(trace, step=computed) as reader:
        await reader.press("2", "down", "i")
        assert isinstance(reader.app.screen, ThingsScreen)
        assert reader.sees("▌ x  [2, 2] float32 on cpu", "What else is here?", "    w ")


def test_structured_kernel_part_offers_questions_about_its_output(trace: Trace) -> None:
    at = step(trace, ev.OutputAllocated)
    allocated = trace[at]
    assert isinstance(allocated, ev.OutputAllocated)
    about = {row.key: row.about for row in structured_pane.rows(trace, at, 100)}
    assert about[str(at)] == TensorThing(allocated.tensor)
    assert about[str(step(trace, ev.MetaEntered))] is None
    assert about[str(step(trace, ev.ImplEntered))] == TensorThing(allocated.tensor)


async def test_click_on_an_answer_goes_there_in_every_keymap(trace: Trace) -> None:
    async with stepper(trace, step=line(trace, 4), level=DEFAULT) as reader:
        reader.app.use_keymap("gdb")
        await reader.press("semicolon", "i")
        assert isinstance(reader.app.screen, ThingsScreen)
        assert reader.sees(", i asks about the row,")
        rows = reader.screen
        at = next(y for y, row in enumerate(rows) if "saved by MulBackward0" in row)
        await reader.pilot.click(offset=(rows[at].index("saved"), at))
        await reader.pilot.pause()
        assert isinstance(trace[reader.at], ev.VariableSaved)


async def test_title_with_a_step_leads_there(trace: Trace) -> None:
    async with stepper(trace, step=line(trace, 2), level=DEFAULT) as reader:
        await reader.press("i")
        assert reader.sees("This step involves no tensor and no Node")
        await reader.press(pane_key(ENGINE), "down", "enter")
        assert reader.at == step(trace, ev.BackwardStarted)


@pytest.mark.parametrize("size", SIZES)
async def test_list_of_questions_is_readable_at_every_size(trace: Trace, size: tuple[int, int]) -> None:
    async with stepper(trace, size, line(trace, 6), DEFAULT) as reader:
        await reader.press("i")
        assert reader.sees("Who made it?", "made by mul.Tensor", "step", "line 6")
        for key in ("down", "end", "home", "pagedown", "pageup", "up"):
            await reader.press(key)
            assert sum("▶ " in row for row in reader.screen) >= 1
            chosen = reader.app.screen._view  # type: ignore[attr-defined]
            assert chosen.port.y_of(chosen._chosen) is not None, key


# -- a chosen row ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pane", [pane for pane in PANES if pane != STEPS])
async def test_enter_follows_a_row_like_a_click(trace: Trace, pane: int) -> None:
    """The keys reach every row of a pane that leads somewhere, and Enter goes there."""
    begin = step(trace, event(ev.NodeStarted, name="MulBackward0"))
    async with stepper(trace, (120, 60), step=begin, level=DEFAULT) as reader:
        view = reader.app.view.panes[pane]
        await reader.press(pane_key(pane))
        rows = view.shown.lines  # type: ignore[attr-defined]
        leading = [at for at, row in enumerate(rows) if leads_somewhere(row) and view.shown.starts[at] == at]  # type: ignore[attr-defined]
        await reader.press(*["up"] * (len(rows) + 1))
        met = [] if view.shown.chosen is None else [view.shown.chosen]  # type: ignore[attr-defined]
        for _ in range(len(rows) + 1):
            await reader.press("down")
            chosen = view.shown.chosen  # type: ignore[attr-defined]
            met += [chosen] if chosen is not None and chosen not in met else []
        assert reader.at == begin, "the steps stay where they are"
        assert sorted(met) == (leading or met), pane
        if rows and leading and (goto := view.chosen_row.goto) is not None:  # type: ignore[union-attr]
            assert "›" in reader.text
            await reader.press("enter")
            assert reader.at == goto


async def test_chosen_rows_can_be_asked_about_and_left(trace: Trace) -> None:
    async with stepper(trace, step=line(trace, 6), level=DEFAULT) as reader:
        await reader.press(pane_key(TENSORS), "down", "down")
        view = reader.app.view.panes[TENSORS]
        row = view.chosen_row
        name = row.plain.split()[0]
        assert reader.sees("Enter goes there, i asks, Esc leaves")
        await reader.press("i")
        assert isinstance(reader.app.screen, ThingsScreen)
        assert reader.sees(f"▌ {name}")
        await reader.press("escape")
        assert view.chosen_row == row
        await reader.press("escape")
        assert view.chosen_row is None
        assert not reader.sees("Enter goes there")
        await reader.press("enter")
        assert not reader.sees("1 Steps"), "without a chosen row Enter shows the pane alone"
        await reader.press("escape")
        assert reader.sees("1 Steps")


async def test_chosen_row_follows_its_thing(trace: Trace) -> None:
    async with stepper(trace, step=step(trace, ev.BackwardStarted)) as reader:
        await reader.press(pane_key(GRAPH), "down")
        view = reader.app.view.panes[GRAPH]
        row = view.chosen_row
        await reader.press("s")
        assert view.chosen_row.key == row.key
        await reader.press("g")
        assert view.chosen_row is None, "the graph is not there yet"


async def test_table_row_opens_its_explanation(trace: Trace) -> None:
    call = step(trace, event(ev.Dispatched, operator="aten::mul.Tensor", how="call"))
    async with stepper(trace, step=call, level=DEFAULT) as reader:
        await reader.press(pane_key(TABLE), "down")
        view = reader.app.view.panes[TABLE]
        cell = view.chosen_row.about  # type: ignore[union-attr]
        await reader.press("enter")
        assert isinstance(reader.app.screen, CellScreen)
        assert reader.sees(f"why aten::mul.Tensor {cell.key}")  # type: ignore[union-attr]
        await reader.press("escape", "down", "i")
        assert isinstance(reader.app.screen, CellScreen)
        assert not reader.sees(f"why aten::mul.Tensor {cell.key} ")  # type: ignore[union-attr]


async def test_frame_offers_questions_about_its_call(trace: Trace) -> None:
    async with stepper(trace, step=step(trace, ev.VariableSaved), level=DEFAULT) as reader:
        await reader.press(pane_key(CALLS), "down")
        assert reader.sees("Enter goes there")
        assert [row for row in reader.screen if " ›" in row]
        await reader.press("i")
        assert isinstance(reader.app.screen, ThingsScreen)
        assert reader.sees("▌ y (t3)")
        await reader.press("escape", "g")
        assert not reader.sees("Enter goes there")
        assert not [row for row in reader.screen if " ›" in row]


async def test_panes_without_rows_that_lead_somewhere_scroll(trace: Trace) -> None:
    async with stepper(trace, (80, 24), step(trace, ev.Dispatched)) as reader:
        await reader.press(pane_key(KEYS), *["down"] * 60)
        view = reader.app.view.panes[KEYS]
        assert view.chosen_row is None
        assert view.port.top == max(view.port.count - view.port.rows, 0)
        assert reader.sees("No more linked rows that way")


# -- across, and history ---------------------------------------------------------------------------------------------


async def test_cross_goes_to_the_forward_call_and_back(trace: Trace) -> None:
    made = step(trace, event(ev.Dispatched, operator="aten::mul.Tensor", how="call"), after=line(trace, 11))
    run = step(trace, event(ev.NodeStarted, name="MulBackward0"))
    async with stepper(trace, step=run, level=DEFAULT) as reader:
        await reader.press("x")
        assert reader.at == made
        assert reader.sees("mul.Tensor made MulBackward0", "Backspace returns")
        await reader.press("x")
        assert reader.at == run
        await reader.press("backspace", "backspace")
        assert reader.at == run


@pytest.mark.parametrize(
    ("number", "why"),
    [(9, "Line 9 made no Node: grad mode is off"), (10, "AddBackward0 does not run in this recording"),
     (4, "Line 4 made no Node"), (2, "Line 2 made no Node")],
)  # fmt: skip
async def test_missing_target_of_cross_is_explained(trace: Trace, number: int, why: str) -> None:
    async with stepper(trace, step=line(trace, number), level=DEFAULT) as reader:
        await reader.press("x")
        assert reader.at == line(trace, number)
        assert reader.sees(why)


async def test_history_undoes_redoes_and_lists_jumps(trace: Trace) -> None:
    async with stepper(trace, step=line(trace, 6), level=DEFAULT) as reader:
        await reader.press("e")
        assert reader.sees("No jump to redo")
        await reader.press("h")
        assert reader.sees("No jump yet")
        begin = reader.at
        await reader.press("G", "g")
        await reader.press("backspace")
        assert reader.at == last_step(trace)
        await reader.press("e")
        assert reader.at == 0
        await reader.press("backspace", "backspace", "e")
        assert reader.at == last_step(trace)
        await reader.press("h")
        assert isinstance(reader.app.screen, PlacesScreen)
        assert reader.sees("Places you visited", "line 6")
        assert any("▶ ● " in row for row in reader.screen)
        await reader.press("up", "enter")
        assert reader.at == begin
        await reader.press("e", "e")
        assert reader.at == 0, "places before and behind the chosen one stay"
        await reader.press("G", "backspace", "n", "e")
        assert reader.sees("No jump to redo"), "a new move forgets what was undone"
        await reader.press("G", pane_key(OUTPUT), "down", "enter")
        assert isinstance(trace[reader.at], ev.Printed)


async def test_click_on_a_row_without_a_step_opens_questions(trace: Trace) -> None:
    call = step(trace, event(ev.Dispatched, operator="aten::mul.Tensor", how="call"))
    async with stepper(trace, (200, 60), call, DEFAULT) as reader:
        await reader.press(pane_key(TABLE))
        view = reader.app.view.panes[TABLE]
        at = next(at for at in range(view.port.top, view.port.count) if view.row(at, 80).about is not None)
        y = view.port.y_of(at)
        assert y is not None
        await reader.pilot.click(offset=(view.region.x + 10, view.region.y + y))
        await reader.pilot.pause()
        assert isinstance(reader.app.screen, CellScreen)
