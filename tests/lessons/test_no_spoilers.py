"""No place of a lesson shows the answer of a question before it is asked: panes, their titles, the sentence, rows,
search, filter, lists, texts, the hand-out. ``tests/outputs/page/test_page_lessons.py`` has the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dispatchviz.cli.lesson_check import problems, run_lesson
from dispatchviz.cli.lesson_texts import PAGE_BREAK, hand_out
from dispatchviz.cli.recorded_values import SMALL
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.predictions.prediction import Choice, Kind, Prediction
from dispatchviz.lessons.asked.shown_numbers import first_shown
from dispatchviz.lessons.catalog import all_lessons, lesson_named
from dispatchviz.lessons.guide import Guide
from dispatchviz.lessons.lesson_file import read_lesson
from dispatchviz.lessons.stops import step_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.tui.actions import ask_what_if, traceback
from dispatchviz.tui.commands.predicting import answered, masked, question_on_the_way
from dispatchviz.tui.commands.searching import search
from dispatchviz.tui.commands.stopping import toggle, visible_stops
from dispatchviz.tui.questions.typed_questions import FilterQuestion, SearchQuestion
from dispatchviz.tui.screens.marks_screen import mark_rows
from dispatchviz.tui.screens.places_screen import place_rows
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import ENGINE, OUTPUT, SOURCE
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.panes.pane_rows import PaneRows
from dispatchviz.views.panes.step_rows import step_row
from dispatchviz.views.predictions.spoilers import ASKED_FIRST, hidden, hides_sentence, telling_kernels, without_hidden
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line
from tests.lessons.own_lesson import PROGRAM, written
from tests.tui.screens import stepper_of


@cache
def guide(name: str) -> Guide:
    lesson = lesson_named(name, None)
    return Guide(lesson, run_lesson(lesson).trace)


def session(name: str, step: int | None = None) -> Session:
    """Return the session of a reader who has answered nothing."""
    of = Guide(guide(name).lesson, guide(name).trace)
    found = Session(of.trace, of.place.step if step is None else step, guide=of)
    found.cursor = masked(found, found.cursor)
    return found


def shown(of: Session, update: Update) -> Update:
    of.cursor = masked(of, update.cursor)
    return update


def finished(of: Session, update: Update) -> Update:
    """Return the last update of work in slices."""
    while shown(of, update).goes_on is not None:
        assert update.goes_on is not None
        update = update.goes_on()
    return update


def plain(update: Update) -> str:
    return "" if update.note is None else update.note.plain


def before(trace: Trace, asked: Prediction) -> Cursor:
    """Return the cursor at the last step before an answer."""
    return Cursor(trace, asked.asked, outline=Outline(trace, 1)).asked_ahead(asked, "predict")


# -- panes -------------------------------------------------------------------------------------------------------------

NAMES = re.compile(r" \([nt]\d+\)|\b[\w.\[\]@]+ (?=\(t\d+\))|\s+")
"""Names of tensors and numbers of Nodes, which depend on later variables and Nodes with the same name."""


@pytest.mark.parametrize("name", ["forum", "in_place", "engine", "hooks", "alias_keys", "grad_levels"])
def test_panes_show_only_what_the_recording_has_before_the_answer(name: str) -> None:
    trace = guide(name).trace
    for step, asked in guide(name).questions.items():
        cut = Trace(trace.header, list(trace)[:step])
        earlier = Cursor(cut, asked.asked, outline=Outline(cut, 1))
        for number, (title, module) in PANES.items():
            whole, part = (set(_texts(number, module, each)) for each in (before(trace, asked), earlier))
            assert whole - part <= {NAMES.sub("", ASKED_FIRST.plain), _CALLER}, (title, asked.question)


_CALLER = NAMES.sub(
    "", "    calls Python     torch::autograd::PyFunctionTensorPreHook::operator()  torch/csrc/autograd/python_hook.cpp"
)
"""The row of the C++ frame that calls a hook. The event of the hook is at its end."""


def _texts(number: int, module: str, cursor: Cursor) -> Iterator[str]:
    return (NAMES.sub("", row.plain) for row in PaneRows(number, rows_of(module)).at(cursor, 100))


def test_titles_do_not_say_that_nothing_comes_later() -> None:
    of = session("forum")
    panes = {number: PaneRows(number, rows_of(PANES[number][1])) for number in (ENGINE, OUTPUT)}
    assert {number: pane.said(of.cursor).plain for number, pane in panes.items() if pane.said(of.cursor)} == {
        ENGINE: "no backward here",
        OUTPUT: "nothing printed yet",
    }
    later = of.cursor.asked_ahead(None, "")
    assert panes[OUTPUT].said(later) == line(("nothing printed yet, none later", "dim"))
    nothing = line(("Nothing printed yet, and none later.", "dim"))
    assert without_hidden([nothing], of.cursor) == [ASKED_FIRST]
    assert without_hidden([nothing], later) == [nothing]


def test_sentence_does_not_name_the_key_of_the_next_call() -> None:
    trace = guide("guards").trace
    asked = next(
        each for each in guide("guards").questions.values() if "aten::transpose.int is called" in each.question
    )
    assert asked.right.text == "CPU"
    [kernel] = telling_kernels(trace, asked)
    assert isinstance(trace[kernel], ev.KernelEntered)
    assert hides_sentence(Cursor(trace, kernel).asked_ahead(asked, ""))
    assert not hides_sentence(Cursor(trace, kernel))
    assert not hides_sentence(Cursor(trace, kernel - 1).asked_ahead(asked, ""))


def test_ready_queue_does_not_answer_an_own_question_about_the_next_node() -> None:
    trace = guide("engine").trace
    step = next(each.reveals for each in guide("engine").questions.values() if each.kind is Kind.NEXT)
    choices = (Choice("yes", ""), Choice("no", ""))
    own = Prediction(Kind.OWN, "Is it MulBackward0?", (), choices, choices[0], step, ())
    assert hidden(ENGINE, before(trace, own)) == ASKED_FIRST
    queued = max(at for at in trace.steps_of(ev.NodeQueued) if at < step)
    assert hides_sentence(Cursor(trace, queued).asked_ahead(own, ""))


@pytest.mark.parametrize("path", all_lessons(None), ids=lambda path: path.stem)
def test_rows_hide_every_outcome_after_the_question(path: str) -> None:
    of = guide(read_lesson(path).name)  # type: ignore[arg-type]
    for asked in of.questions.values():
        cursor = before(of.trace, asked)
        tree = cursor.tree
        assert tree is not None
        for number in range(len(cursor.rows)):
            row = cursor.row_at(number)
            if tree.end(row.item) >= asked.reveals:
                assert step_row(cursor, number, 100).plain.rstrip().endswith("?")


GRADIENT = """\
# # A title
import torch

w = torch.ones(2, requires_grad=True)
h = w * 3
(h * h).sum().backward()

# ## Predict
#
# stop: run SumBackward0
# It begins.
#
# stop: w.grad
# ask: What is `w.grad` now?
# answer: w.grad -> [18, 18]
"""


def test_number_that_is_the_answer_is_hidden_before_the_stop(tmp_path: Path) -> None:
    lesson = written(tmp_path, "", GRADIENT)
    trace = run_lesson(lesson).trace
    [asked] = Guide(lesson, trace).questions.values()
    first, stop = asked.first_hidden, step_named(trace, "w.grad")
    assert (asked.reveals, label(trace, first).endswith("holds [18.0, 18.0]")) == (stop, True)
    assert step_named(trace, "run SumBackward0") < first < stop
    assert not any("[18.0, 18.0]" in label(trace, step) for step in trace.steps_of(ev.NumbersRecorded) if step < first)
    of = Session(trace, first - 1, guide=Guide(lesson, trace))
    of.cursor = masked(of, of.cursor)
    assert [of.cursor.hides(step) for step in (first - 1, first, stop)] == [False, True, True]
    moved = question_on_the_way(of, of.cursor, of.cursor.goto(first))
    assert moved is not None
    assert (moved.asks, moved.cursor.at) == (asked, first - 1)
    shown(of, answered(of, asked, asked.right))
    assert (of.cursor.at, of.cursor.hides(first)) == (stop, False)


EXP = "[2.718282]"


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        *(("[18, 18]", "[18.0, 18.0, 2.0]"), ("18", "[18.0, 18.0, 2.0]"), ("[2, 18]", "")),
        *(("2.72", EXP), ("2.71828", EXP), ("3", ""), ("-4", "-4"), ("yes", ""), ("t18", "")),
    ],
)
def test_recorded_numbers_contain_an_answer(answer: str, where: str) -> None:
    program = "import torch\na = torch.tensor([18., 18., 2.])\nb = torch.ones(1).exp()\nc = torch.tensor(-4) + 0\n"
    trace = run(Code(program), **SMALL._asdict()).trace
    found = first_shown(trace, answer, range(len(trace)))
    assert label(trace, found).endswith(f"holds {where}") if where else not found


def test_assertion_in_a_program_with_questions_is_refused(tmp_path: Path) -> None:
    program = f"{PROGRAM}assert x.grad.tolist() == [7, 7]\n"
    [problem] = problems(written(tmp_path, "# predict: call mm\n", program))
    assert problem.text.startswith("learners read this assertion before the questions")
    assert program.split("\n")[problem.line - 1].startswith("assert")
    assert not list(problems(written(tmp_path, "# stop: call mm\n", program)))


# -- search, filter, lists ---------------------------------------------------------------------------------------------


NONE = "No step before the next question matches RuntimeError"


def test_search_finds_only_steps_before_the_question() -> None:
    of = session("in_place")
    ahead = of.cursor.ahead
    assert ahead is not None
    everywhere = len(of.trace.steps_of(ev.NodeCreated))
    of.search.find("NodeCreated")
    while of.search.go_on():
        pass
    seen = [step for step in of.trace.steps_of(ev.NodeCreated) if step < ahead.reveals]
    assert of.search.position(0)[1] == len(seen) < everywhere
    assert NONE in plain(finished(of, SearchQuestion(of).typed("RuntimeError")))
    shown(of, search(of, True))
    assert of.cursor.at < ahead.reveals


def test_search_finds_more_after_the_answer() -> None:
    of = session("in_place")
    of.search.find("Dispatched")
    first = of.cursor.ahead
    assert first is not None
    before_answer = of.search.end
    shown(of, answered(of, first, first.right))
    assert before_answer == first.reveals < of.search.end
    assert (of.search.query, of.cursor.search) == ("Dispatched", of.search)
    while of.cursor.ahead is not None:
        shown(of, answered(of, of.cursor.ahead, None))
    assert of.search.end == len(of.trace)


def test_filter_keeps_only_steps_before_the_question() -> None:
    of = session("in_place")
    ahead = of.cursor.ahead
    assert ahead is not None
    finished(of, FilterQuestion(of).answered("NodeCreated"))
    assert max(of.cursor.shown or ()) < ahead.reveals
    assert NONE in plain(finished(of, FilterQuestion(of).answered("RuntimeError")))


def test_stops_of_breakpoints_after_the_question_are_not_counted() -> None:
    of = session("in_place")
    ahead = of.cursor.ahead
    assert ahead is not None
    said = plain(finished(of, toggle(of.cursor, "MulBackward0")))
    [point] = of.cursor.breakpoints
    seen, everywhere = visible_stops(of.cursor, point), point.steps(of.trace)
    assert 0 < len(seen) < len(everywhere)
    assert max(seen) < ahead.reveals
    assert f"{len(seen)} stops" in said
    rows = [step_row(of.cursor, number, 100).plain for number in range(len(of.cursor.rows))]
    assert [text[1] for text in rows if "y = x * 2" in text or "backward()" in text] == ["◉", " "]


def test_marks_and_places_after_the_question_have_no_label() -> None:
    of = session("in_place")
    end = len(of.trace) - 1
    of.marks.set(end, "end")
    assert mark_rows(of)[0].plain.endswith("end  ?")
    assert place_rows(of.cursor.goto(end).goto(0).asked_ahead(of.cursor.ahead, ""))[1].plain.endswith("?")


# -- texts over the stepper --------------------------------------------------------------------------------------------


def test_traceback_and_other_runs_wait_for_the_answers() -> None:
    of = session("in_place")
    for action in (traceback, ask_what_if):
        assert action(of) == Update(of.cursor, ASKED_FIRST)
    while of.cursor.ahead is not None:
        shown(of, answered(of, of.cursor.ahead, None))
    assert not isinstance(traceback(of), Update)
    assert not isinstance(ask_what_if(of), Update)


async def test_answers_about_a_tensor_hide_later_steps() -> None:
    of = session("in_place", step_named(guide("in_place").trace, "z's Node"))
    ahead = of.cursor.ahead
    assert ahead is not None
    async with stepper_of(of) as reader:
        await reader.press("i")
        await reader.until(lambda: reader.sees("Hidden until you guess."))
        assert not reader.sees("d.mul_(3)")


async def test_ended_predict_mode_asks_nothing_more() -> None:
    async with stepper_of(session("forum")) as reader:
        await reader.press("c", "c", "p")
        assert reader.sees("Predict mode ended")
        await reader.press("c", "c")
        assert len(reader.app.screen_stack) == 1


# -- the hand-out ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", all_lessons(None), ids=lambda path: path.stem)
def test_hand_out_has_answers_on_their_own_page(path: str) -> None:
    of = guide(read_lesson(path).name)  # type: ignore[arg-type]
    pages = "\n".join(hand_out(of, of.trace, paper=True)).split(f"\n{PAGE_BREAK}\n")
    answers = pages[-1]
    assert answers.startswith("\n## Answers")
    for asked in of.questions.values():
        [page] = [page for page in pages[:-1] if f" {asked.question}" in page.replace("\\", "")][:1] or [pages[0]]
        after = page[page.replace("\\", "").find(asked.question) :]
        assert "\n> step" not in after, asked.question
    for place in of.places:
        if place.asks and place.passage.text:
            assert place.passage.text not in "".join(pages[:-1])
            assert place.passage.text in answers


def test_source_of_a_lesson_begins_with_its_first_line_of_code() -> None:
    rows = [row.plain for row in rows_of(PANES[SOURCE][1])(guide("alias_keys").trace, 0, 80)]
    assert rows[1].split() == ["▶", "8", "import", "torch"]
