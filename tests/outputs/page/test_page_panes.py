"""What the panes and the texts over the page say, in a real browser."""

from __future__ import annotations

from pathlib import Path

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.step_sentences import why_here
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, at, go, opened
from tests.steps import step

pytestmark = IN_BROWSER


def test_every_key_of_the_table_does_something(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    missing = page.evaluate(
        "D.keys.filter(({action}) => !actionOf(action) && action !== 'print').map((key) => key.action)"
    )
    assert missing == []
    page.keys("?")
    assert all(page.evaluate("D.keys.map(({help}) => element('dialog').textContent.includes(help))"))
    page.keys("Escape")
    assert not page.evaluate("element('dialog').open")


def test_the_sub_steps_of_a_key_set(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    call = step(forum, ev.Dispatched)
    go(page, call)
    page.keys("2", "s")
    assert page.text("#pane2").startswith("2 Key set - stage 1/")
    first = page.text("#sentence")
    page.keys("s")
    assert page.text("#sentence") != first
    page.keys("S", "S")
    assert page.text("#sentence") == why_here(forum, call)


def test_more_of_the_stack_and_of_the_engine(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    go(page, step(forum, ev.NodeStarted))
    page.keys("4", "9")
    short = page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)")
    page.keys("A", "A", "E")
    more = page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)")
    assert more[0] > short[0]
    assert more[1] > short[1]
    assert "whole stack" in page.text("#pane4")
    page.keys("A", "E")
    assert page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)") == short


def test_what_is_asked_of_a_step_leads_on(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    go(page, step(forum, ev.NodeStarted))
    before = at(page)
    page.keys("x")
    assert at(page) < before
    page.keys("x", "i")
    assert "Who made it?" in page.text("#dialog")
    page.evaluate("document.querySelector('#dialog [data-goto]').click()")
    assert not page.evaluate("element('dialog').open")
    page.keys("Y")
    assert page.text("#dialog h2") == "Then and now"
    page.evaluate("document.querySelectorAll('#dialog [aria-pressed]')[1].click()")
    assert page.text("#dialog h2") == "Why it is so"
    page.keys("Escape", "t")
    assert "No error here" in page.text("#note")
