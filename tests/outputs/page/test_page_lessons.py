"""Lessons in a page: its own questions, and nothing that gives an answer away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatchviz.explain.predictions.typed_answers import normal
from dispatchviz.lessons.guide import Guide
from dispatchviz.outputs.page.player_page import player_page
from tests.lessons.own_lesson import QUESTIONS, guide, written
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
    assert "✗ Your guess: p7. The answer is [7, 7]." in paged.text("#note")
    paged.keys("s", "S")
    assert "✗ Your guess: p7." in paged.text("#note")


def test_page_compares_typed_answers_as_the_stepper_does(paged: Page) -> None:
    typed = [text for pair in SAME for text in pair]
    assert paged.evaluate(f"JSON.stringify({json.dumps(typed)}.map(normal))") == json.dumps(
        list(map(normal, typed)), separators=(",", ":")
    )
