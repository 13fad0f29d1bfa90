"""Lessons in a page: their own questions, and nothing that gives an answer away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatchviz.cli.lesson_check import run_lesson
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.explain.predictions.typed_answers import normal
from dispatchviz.lessons.catalog import lesson_named
from dispatchviz.lessons.guide import Guide
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.player_page import player_page
from dispatchviz.outputs.page.question_data import question_data
from dispatchviz.outputs.picture.dot import legend
from dispatchviz.views.predictions.spoilers import telling_kernels
from tests.lessons.own_lesson import QUESTIONS, guide, written
from tests.lessons.test_no_spoilers import GRADIENT
from tests.lessons.test_own_questions import SAME
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, at

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def own(folder: Path) -> Guide:
    of = guide(written(folder, QUESTIONS))
    (folder / "own.html").write_bytes(player_page(of.trace, of))
    return of


@pytest.fixture
def paged(own: Guide, page: Page, folder: Path) -> Page:
    page.open((folder / "own.html").as_uri())
    return page


def test_page_asks_and_replies(paged: Page, own: Guide) -> None:
    paged.keys("c")
    assert paged.text("#asked") == "Does z.grad have a gradient after this line?"
    paged.keys("1")
    assert "✗ Your guess: yes: backward computes it. Backward frees it again." in paged.text("#note")
    assert at(paged) == next(iter(own.questions))


def test_page_checks_a_typed_answer(paged: Page) -> None:
    paged.keys("c", "2", "c")
    assert paged.evaluate("document.activeElement.id") == "typed"
    assert "Esc skips this question" in paged.text("#question")
    paged.write("(7.0, 7)")
    paged.keys("Enter")
    assert "✓ Right: [7, 7]." in paged.text("#note")
    assert "2 of 2 right" in paged.text("#where")
    paged.keys("c")
    assert paged.text("#asked") == "Was z changed?"


def test_wrong_typed_answer_stays_with_its_step(paged: Page) -> None:
    paged.keys("c", "2", "c")
    paged.write("p7")
    paged.keys("Enter")
    assert "✗ Your guess: p7. The answer: [7, 7]." in paged.text("#note")
    paged.keys("s", "S")
    assert "✗ Your guess: p7." in paged.text("#note")


def test_page_compares_typed_answers_as_the_stepper_does(paged: Page) -> None:
    typed = [text for pair in SAME for text in pair]
    assert paged.evaluate(f"JSON.stringify({json.dumps(typed)}.map(normal))") == json.dumps(
        list(map(normal, typed)), separators=(",", ":")
    )


# -- no spoilers -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_place(folder: Path) -> Guide:
    lesson = lesson_named("in_place", None)
    of = Guide(lesson, run_lesson(lesson).trace)
    (folder / "in_place.html").write_bytes(player_page(of.trace, of))
    return of


@pytest.fixture
def lesson(in_place: Guide, page: Page, folder: Path) -> Page:
    page.open((folder / "in_place.html").as_uri())
    return page


def test_search_of_a_page_finds_only_steps_before_the_question(lesson: Page, in_place: Guide) -> None:
    first = min(in_place.questions)
    lesson.evaluate("act(() => search('RuntimeError'))")
    assert lesson.text("#note") == "No step before the next question has RuntimeError"
    lesson.evaluate("act(() => search('MulBackward0'))")
    seen = lesson.evaluate("S.hits.length")
    assert lesson.evaluate("Math.max(...S.hits)") < first
    lesson.evaluate("act(() => { A.on = false; })")
    assert lesson.evaluate("S.hits.length") > seen, "all steps are searched after the last question"


def test_filter_and_breakpoints_of_a_page_end_before_the_question(lesson: Page, in_place: Guide) -> None:
    first = min(in_place.questions)
    lesson.keys("f")
    lesson.write("MulBackward0")
    lesson.keys("Enter")
    assert lesson.evaluate("Math.max(...S.filter)") < first
    lesson.evaluate("act(() => setBreakpoint('MulBackward0'))")
    seen, everywhere = (
        lesson.evaluate("visible(S.breakpoints[0].steps).length"),
        lesson.evaluate("S.breakpoints[0].steps.length"),
    )
    assert 0 < seen < everywhere
    assert f"{seen} stops" in lesson.text("#note")


@pytest.fixture
def gradient(page: Page, folder: Path) -> tuple[Page, Prediction]:
    """The page of a lesson whose answer is a gradient, and its question."""
    of = guide(written(folder, "", GRADIENT))
    (folder / "gradient.html").write_bytes(player_page(of.trace, of))
    page.open((folder / "gradient.html").as_uri())
    [asked] = of.questions.values()
    return page, asked


def test_page_hides_the_number_of_an_answer_before_its_stop(gradient: tuple[Page, Prediction]) -> None:
    page, asked = gradient
    assert asked.first_hidden < asked.reveals
    page.evaluate(f"act(() => goTo({asked.first_hidden}))")
    assert (at(page), page.text("#asked")) == (asked.asked, "What is w.grad now?")
    assert "[18.0, 18.0]" not in page.evaluate("document.body.innerText")
    page.evaluate("act(() => search('holds [18.0, 18.0]'))")
    assert page.text("#note") == "No step before the next question has holds [18.0, 18.0]"
    page.write("[18, 18]")
    page.keys("Enter")
    assert at(page) == asked.reveals
    page.evaluate(f"act(() => goTo({asked.first_hidden}))")
    assert "[18.0, 18.0]" in page.evaluate("document.body.innerText")


def test_picture_of_a_page_says_nothing_about_its_last_step(lesson: Page, in_place: Guide) -> None:
    assert "saved tensors:" in "".join(legend(backward_graph(in_place.trace)))
    assert "saved tensors:" not in "".join(legend(backward_graph(in_place.trace), of_many_steps=True))
    lesson.evaluate(f"act(() => goTo({min(in_place.questions) - 1}))")
    assert "Backward graph" in lesson.text("#panes")
    assert "saved tensors:" not in lesson.text("#panes")


def test_titles_and_texts_of_a_page_say_nothing_about_later_steps(lesson: Page) -> None:
    assert "later" not in lesson.text("#panes")
    lesson.evaluate("act(() => showText('traceback'))")
    assert "Hidden until you guess." in lesson.text("#dialog")
    assert "RuntimeError" not in lesson.text("#dialog")


def test_sentence_of_a_page_does_not_name_the_key_of_the_next_call(in_place: Guide) -> None:
    lesson = lesson_named("guards", None)
    of = Guide(lesson, run_lesson(lesson).trace)
    asked = question_data(of.trace, Lines(), range(len(of.trace)), of.questions)["asked"]
    assert isinstance(asked, list)
    telling = {each["reveals"]: tuple(each["telling"]) for each in asked if "telling" in each}
    assert {step: telling_kernels(of.trace, of.questions[step]) for step in of.questions if step in telling}
    assert all(
        telling[step] == telling_kernels(of.trace, of.questions[step]) for step in of.questions if step in telling
    )


def test_source_of_a_page_waits_for_the_answer_that_its_line_shows(page: Page, folder: Path) -> None:
    lesson = lesson_named("grad_levels", None)
    of = Guide(lesson, run_lesson(lesson).trace)
    step = next(step for step, asked in of.questions.items() if asked.question.startswith("Autograd's kernel runs a"))
    (folder / "grad_levels.html").write_bytes(player_page(of.trace, of))
    page.open((folder / "grad_levels.html").as_uri())
    page.evaluate("act(() => goTo(0))")
    for earlier in [each for each in of.questions if each < step]:
        page.evaluate(f"A.skipped.add({earlier})")
    page.evaluate(f"act(() => goTo({step - 1}))")
    assert page.evaluate(f"wouldReveal(SOURCE_PANE, ahead()) && ahead().reveals === {step}")
    assert not page.evaluate(f"wouldReveal(SOURCE_PANE, {{...ahead(), line: {step}}})")
    assert not page.evaluate(f"(() => {{ A.skipped.add({step}); return wouldReveal(SOURCE_PANE, ahead()); }})()")


ASIDE = """\

# ## Modify
#
# Add 1 to `x` in the first line, and run it again.
"""


def test_passage_without_a_step_does_not_repeat_the_verdict_before_it(page: Page, folder: Path) -> None:
    of = guide(written(folder, f"{QUESTIONS}{ASIDE}"))
    (folder / "aside.html").write_bytes(player_page(of.trace, of))
    page.open((folder / "aside.html").as_uri())
    page.keys("c", "1")
    assert "✗ Your guess" in page.text("#note")
    page.evaluate("while (!D.lesson[S.place].alone) { act(MOVES.resume); if (A.open) act(() => answer(0)); }")
    assert "Add 1 to" in page.text("#lesson")
    assert page.evaluate("A.answers.has(S.at)")
    assert page.text("#note") == ""
    page.keys("C")
    assert "Your guess" in page.text("#note") or "Right" in page.text("#note")


CONTINUES = "#lesson [data-action=\"move('resume')\"]"


def test_words_on_how_the_lesson_continues_are_a_button(paged: Page, own: Guide) -> None:
    first = next(iter(own.questions))
    tap = f"document.querySelector({json.dumps(CONTINUES)}).click()"
    assert paged.text(CONTINUES) == "c continues"
    paged.evaluate(tap)
    assert paged.text("#asked") == "Does z.grad have a gradient after this line?"
    assert paged.text(CONTINUES) == "continues the lesson"
    paged.evaluate(tap)
    assert (at(paged), paged.evaluate("D.lesson[S.place].step")) == (first, first), "as the key c, it skips a question"
    paged.evaluate("while (S.place < D.lesson.length - 1 || A.open) act(MOVES.resume)")
    assert not paged.evaluate(f"document.querySelector({json.dumps(CONTINUES)})")


def test_link_behind_an_open_question_opens_at_the_question(page: Page, own: Guide, folder: Path) -> None:
    address, first = (folder / "own.html").as_uri(), min(own.questions)
    page.open(f"{address}#step={first - 1}")
    assert (at(page), page.evaluate("A.open")) == (first - 1, None)
    page.open(f"{address}#step={len(own.trace) - 1}")
    assert page.text("#asked") == "Does z.grad have a gradient after this line?"
    linked = at(page)
    page.open(address)
    page.evaluate("act(JUMPS.last)")
    assert linked == at(page) < first


def test_link_to_a_typed_question_gives_its_field_the_focus(gradient: tuple[Page, Prediction], folder: Path) -> None:
    page, asked = gradient
    page.open(f"{(folder / 'gradient.html').as_uri()}#step={asked.reveals}")
    assert page.evaluate("document.activeElement.id") == "typed"
