"""Questions before answers in the page, in a real browser."""

from __future__ import annotations

from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.trace_predictions import predictions_after
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, at, opened

pytestmark = IN_BROWSER


def test_questions_come_before_answers(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    asked = next(predictions_after(forum, 0, outer=True))
    page.keys("g", "p", "G")
    assert at(page) == asked.asked
    assert page.text("#asked") == asked.question
    assert [each.text for each in asked.choices] == page.evaluate(
        "[...document.querySelectorAll('#question .choice')].map((each) => each.textContent.slice(2))"
    )
    assert "?" in page.text("#rows")
    assert asked.right.text not in page.text("#rows")
    assert "Esc or c goes on" in page.text("#question")
    page.keys(str(asked.choices.index(asked.right) + 1))
    assert at(page) == asked.reveals
    assert "Right" in page.text("#note")
    page.keys("Enter")
    assert at(page) == asked.reveals
    assert "Right" in page.text("#note")
    assert page.text("#where").endswith("predict: 1 of 1 right")
    page.keys("G", "c")
    assert page.text("#where").endswith("predict: 1 of 1 right, 1 skipped")
    assert not page.evaluate("A.open")
