"""Presenter mode of the page, its free rows and its panes that look ahead, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.panes.ahead import WHERE, shown_step
from dispatchviz.views.session import Session
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, at, go, opened
from tests.tui.test_ahead import at_line

pytestmark = IN_BROWSER

SHOWN = f"JSON.stringify(Object.fromEntries([{', '.join(map(str, WHERE))}].map((pane) => [pane, stepOf(pane)])))"


def test_page_and_stepper_look_ahead_to_the_same_steps(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    cursor = Session(forum).cursor.first()
    for _ in range(7):
        go(page, cursor.at)
        assert page.evaluate(f"JSON.parse({SHOWN})") == {str(pane): shown_step(pane, cursor) for pane in WHERE}
        cursor = cursor.down()


def test_titles_say_which_panes_look_ahead(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    go(page, at_line(forum, 6).at)
    assert page.text("#pane2") == "2 Key set inside this row"
    assert page.text("#pane6") == "6 Backward graph after this row"
    assert "AutogradCUDA wins" in page.text("[data-pane='2'] .body")
    assert page.evaluate("document.querySelector('[data-pane=\"6\"] svg') !== null")


def test_first_text_is_about_the_first_row_alone(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    assert "creates the first Node" in page.text("#note")
    assert page.evaluate("element('sentence').hidden")
    page.keys("s")
    assert not page.evaluate("element('sentence').hidden")


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_presenter_gives_the_steps_three_fifths(page: Page, folder: Path, forum: Trace, size: tuple[int, int]) -> None:
    page.size(*size)
    opened(page, folder, forum, "forum", "?present")
    steps, panes = page.evaluate("['steps', 'panes'].map((id) => element(id).getBoundingClientRect().width)")
    assert 1.4 < steps / panes < 1.6
    cut = "[...document.querySelectorAll('.step')].filter((row) => row.scrollWidth > row.clientWidth).length"
    assert page.evaluate(cut) == 0, "all rows have free lines"
    assert page.evaluate("element('list').scrollHeight <= element('list').clientHeight")


def test_current_row_is_the_first_to_take_free_lines(page: Page, folder: Path, loop: Trace) -> None:
    page.size(700, 500)
    opened(page, folder, loop, "loop")
    for _ in range(4):
        page.keys("ArrowDown")
        fits = page.evaluate("rows().length * rowHeight() < L.height")
        assert not fits or page.evaluate("document.querySelector('.step.here').matches('.whole')")
        assert page.evaluate("element('list').scrollHeight <= element('list').clientHeight") or not fits


def test_second_press_of_a_clicker_reveals_the_answer(page: Page, folder: Path, forum: Trace) -> None:
    page.size(1280, 720)
    opened(page, folder, forum, "forum", "?present")
    page.keys("g", "p", "c", "c", "c", "c")
    while not page.evaluate("A.open"):
        page.keys("s")
    before = at(page)
    assert page.evaluate("element('why').clientHeight") == 0, "the question has the room"
    assert page.evaluate("element('question').scrollHeight <= element('question').clientHeight"), (
        "all of it is in sight"
    )
    page.keys("PageDown")
    assert (page.evaluate("!!A.open"), at(page)) == (True, before)
    assert "PgDn again shows the answer" in page.text("#asked")
    page.keys("PageUp")
    assert (page.evaluate("!!A.open"), at(page)) == (False, before)
    page.keys("s", "PageDown", "PageDown")
    assert not page.evaluate("A.open")
    large, usual = page.evaluate(
        "['.r-answer', '#sentence'].map((e) => parseFloat(getComputedStyle(document.querySelector(e)).fontSize))"
    )
    assert large > 1.3 * usual
    assert page.text("#note").strip().startswith("The answer: ")
