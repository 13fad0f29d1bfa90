"""Tests of moves as a reader makes them, from keys to the plain text of the screen."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.testing import event, redispatch
from tests.steps import last_step, line, step, steps

from .screens import stepper
from .synthetic import forum, raising

END = last_step(forum())


@pytest.mark.long
async def test_every_step_can_be_taken_back() -> None:
    async with stepper(forum()) as reader:
        screens = [reader.text]
        await reader.press("G", "g")
        for _ in range(END):
            await reader.move("into")
            screens.append(reader.text)
        for at in range(END - 1, 0, -1):
            await reader.move("into_back")
            assert reader.at == at
            assert reader.screen[0] == screens[at].split("\n")[0]


async def test_backward_moves_undo_forward_moves() -> None:
    trace = forum()
    lines = steps(trace, ev.SourceLine)
    call = step(trace, ev.Dispatched)
    skipped = step(trace, ev.FallthroughSkipped)
    async with stepper(trace, step=lines[0]) as reader:
        await reader.press("c", "c")
        assert reader.at == lines[2]
        await reader.press("C")
        assert reader.at == lines[1]
        await reader.press("n")
        assert reader.at == lines[2]
        await reader.press("N")
        assert reader.at == lines[1]
        await reader.press("down", "up")
        assert reader.at == lines[1]
        await reader.press("colon", *str(skipped), "enter")
        assert reader.at == skipped
        await reader.press("r")
        assert reader.at == step(trace, event(ev.NameBound, name="z"))
        await reader.press("backspace", "R")
        assert reader.at == call
        await reader.press("u", "u")
        assert reader.at == line(trace, 6)
        await reader.press("d", "d")
        assert reader.at == call
        await reader.press("right", "left", "s", "S")
        assert reader.at == call
        await reader.press("end")
        assert reader.at == END
        await reader.press("home")
        assert reader.at == 0


async def test_jumps_and_clicks_leave_notes_and_are_undone() -> None:
    async with stepper(forum()) as reader:
        await reader.press("G")
        assert reader.sees(f"From step 0 to step {END}", "Backspace returns")
        await reader.press("backspace")
        assert reader.at == 0
        await reader.press("backspace")
        assert reader.sees("No jump to undo")
        await reader.press("S")
        assert reader.sees("No row before this one")
        top = reader.app.view.query_one("#pane1").region.y
        row = next(at for at, text in enumerate(reader.screen[top:]) if "z.sum().backward()" in text)
        await reader.pilot.click("#pane1", offset=(8, row))
        clicked = line(forum(), 7)
        assert reader.at == clicked
        assert reader.sees(f"From step 0 to step {clicked}")


@pytest.mark.long
async def test_step_question_goes_to_the_step() -> None:
    async with stepper(forum()) as reader:
        for text, at in [("37", 37), ("+10", 47), ("-7", 40), ("50%", END // 2), ("999", END)]:
            await reader.press("colon", *("plus" if c == "+" else "minus" if c == "-" else c for c in text), "enter")
            assert reader.at == at
        await reader.press("colon", "x", "enter")
        assert reader.sees("x is not a step")
        await reader.press("colon", "5", "escape")
        assert reader.at == END
        await reader.press("s", "g")
        assert reader.at == 0


@pytest.mark.long
async def test_search_follows_typing() -> None:
    first, *_, last = nodes = steps(forum(), ev.NodeCreated)
    async with stepper(forum()) as reader:
        await reader.press("full_stop")
        assert reader.sees("No search yet: / starts one")
        await reader.press("slash", *"redis")
        assert reader.at == step(forum(), redispatch())
        assert reader.sees("Hit 1 of 1")
        await reader.press("escape")
        assert reader.at == 0
        await reader.press("slash", *"nodecreated", "enter")
        assert (reader.at, reader.sees(f"Hit 1 of {len(nodes)}", ". next", ", previous")) == (first, True)
        await reader.press(*["full_stop"] * (len(nodes) - 1))
        assert reader.at == last
        await reader.press("full_stop")
        assert (reader.at, reader.sees("wrapped around")) == (first, True)
        await reader.press("comma")
        assert reader.at == last
        await reader.press("backspace")
        assert reader.at == first
        await reader.press("slash", *"nothing like it", "enter")
        assert (reader.at, reader.sees("No step matches nothing like it")) == (first, True)


async def test_marks_stop_continue_and_are_seen() -> None:
    trace = forum()
    marked = step(trace, ev.BindingEntered)
    before = [at for at in steps(trace, ev.SourceLine) if 0 < at < marked]
    async with stepper(trace) as reader:
        await reader.press("colon", *str(marked), "enter", "m", "enter")
        assert reader.sees(f"●{marked:>2}")
        await reader.press("g")
        assert reader.sees(f"●{line(trace, 6):>2}")  # the enclosing folded row
        for at in [*before, marked]:
            await reader.press("c")
            assert reader.at == at
        await reader.press("m")
        assert reader.sees("Mark removed")


async def test_stepper_opens_at_an_error_or_the_requested_step() -> None:
    async with stepper(raising()) as reader:
        assert reader.at == len(raising()) - 1
        assert reader.sees("The program stopped here with an error", "S back")
        assert reader.sees("a leaf Variable that requires grad is being used in place")
        await reader.press("g")
        assert reader.at == 0
    for trace, asked, opened in ((raising(), 1, 1), (forum(), 5000, END)):
        async with stepper(trace, step=asked) as reader:
            assert reader.at == opened
