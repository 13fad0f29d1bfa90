"""Tests that the formatting of printed tensors is hidden at first, and that steps are counted consistently."""

from __future__ import annotations

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.outline.levels import DEFAULT, LEVELS
from dispatchviz.explain.sentences.statement import number_of_steps, numbers_of_steps, part_of, place_of
from dispatchviz.outputs.cell.trace_card import trace_text
from dispatchviz.outputs.step.step_text import print_step
from dispatchviz.trace import Trace
from dispatchviz.tui.questions.typed_questions import FilterQuestion, StepQuestion, place_named
from dispatchviz.views.screen_bars import header_rows
from dispatchviz.views.session import Session
from tests.steps import last_step, step

from .screens import stepper
from .synthetic import forum


def printing() -> Trace:
    x = torch.tensor([1.5, 2.0])
    with dispatchviz.record() as trace:
        str(x)
        x + 1
    return Trace(trace.header, list(trace))


async def test_tensor_formatting_is_skipped_below_full_detail() -> None:
    trace = printing()
    formatted = step(trace, ev.TensorFormatted)
    after = trace.ends[formatted] + 1
    async with stepper(trace, level=DEFAULT) as reader:
        await reader.press("right")
        assert "90 calls" in reader.text
        await reader.press("g")
        while reader.app.session.cursor.at < formatted:
            await reader.press("s")
        await reader.press("s")
        assert reader.app.session.cursor.at == after
        await reader.press("plus", "plus", "S")
        assert reader.app.session.cursor.at == after - 1


def header(session: Session) -> str:
    return header_rows(session.cursor, 200)[0].plain


def test_counts_of_steps_are_worded() -> None:
    assert place_of(0, 326) == "step 0 of 326"
    assert place_of(325, 326) == "step 325 of 326 (last)"
    assert place_of(12345, 627_032) == "step 12345 of 627,032"
    assert (number_of_steps(1), number_of_steps(627_032)) == ("1 step", "627,032 steps")
    assert part_of(3, 326) == "3 of 326 steps"
    assert (numbers_of_steps(326), numbers_of_steps(0)) == ("0 to 325", "none")


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_the_last_step_is_reached_at_every_level(level: int) -> None:
    session = Session(forum())
    cursor = session.cursor.outlined(session.cursor.outline.at_level(level)).last()
    assert cursor.at == last_step(forum())
    session.cursor = cursor
    assert f"step {cursor.at} of {len(forum())} (last)" in header(session)
    assert cursor.first().resume().resume().at <= last_step(forum())


def test_filter_and_prompt_show_the_same_total_as_the_header(capsys: pytest.CaptureFixture[str]) -> None:
    trace = forum()
    session = Session(trace)
    assert f"  step {session.cursor.at} of {len(trace)}  " in header(session)
    update = FilterQuestion(session).answered("event:nodecreated")
    session.cursor = update.cursor
    assert f" of {len(trace)} steps " in header(session)
    assert f" of {len(trace)} steps with" in (update.note.plain if update.note else "")
    assert f"from 0 to {len(trace) - 1}," in StepQuestion(session).hint
    assert f": {len(trace)} steps>" in trace_text(trace)
    print_step(trace, len(trace) - 1)
    assert capsys.readouterr().out.startswith(f"step {len(trace) - 1} of {len(trace)} (last) in ")


def test_typed_step_number_is_the_shown_one() -> None:
    for number in (0, 5, last_step(forum())):
        session = Session(forum(), number)
        assert f"step {number} of " in header(session)
        assert place_named(str(number), session.cursor) == number
    assert place_named("100%", session.cursor) == last_step(forum())
    assert place_named("1,234", session.cursor) == 1234
