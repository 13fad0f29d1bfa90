"""Panes, texts and questions of the page, in a real browser."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.predictions.trace_predictions import predictions_after
from dispatchviz.outputs.page.player_page import player_page
from tests.explain.programs import traced
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


def test_key_set_has_sub_steps(page: Page, folder: Path, forum: Trace) -> None:
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


def test_stack_and_engine_show_more_on_request(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    go(page, step(forum, ev.NodeStarted))
    page.keys("4", "9")
    short = page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)")
    page.keys("A", "A", "E")
    more = page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)")
    assert more[0] > short[0]
    assert more[1] > short[1]
    assert "complete stack" in page.text("#pane4")
    page.keys("A", "E")
    assert page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)") == short


def test_answers_about_a_step_lead_to_other_steps(page: Page, folder: Path, forum: Trace) -> None:
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
    assert page.text("#dialog h2") == "What older articles say about this step, and what is true today"
    page.evaluate("document.querySelectorAll('#dialog [aria-pressed]')[1].click()")
    assert page.text("#dialog h2") == "Why PyTorch works this way"
    page.keys("Escape", "t")
    assert "No error at this step" in page.text("#note")


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
    assert "Esc or c skips this question" in page.text("#question")
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


TEXTS = (
    "{}|<>\"\\'&amp;",
    "</script><script>window.broken = 1</script>",
    "<!-- <img src=x onerror=window.broken=1> -->",
    "<b>bold</b> ${broken} {{script}}",
    "مرحبا بالعالم",
    "👩‍💻🔥",
    "a\u2028b\u2029c",
)


@pytest.fixture(scope="module")
def short() -> Trace:
    return traced("import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\n")


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_out_as_themselves_and_nothing_executes(page: Page, folder: Path, short: Trace, text: str) -> None:
    header = short.header
    sources = {each: source.replace("True)", f"True)  # {text}") for each, source in header.sources.items()}
    changed = msgspec.structs.replace(
        header, program=f"{text}.py", sources={f"{text}.py": next(iter(sources.values()))}
    )
    names = [
        msgspec.structs.replace(event, name=text) if isinstance(event, ev.NameBound) and event.name == "x" else event
        for event in short.events
    ]
    lined = [msgspec.structs.replace(e, file=f"{text}.py") if isinstance(e, ev.SourceLine) else e for e in names]
    trace = Trace(changed, lined)
    path = folder / f"hostile{TEXTS.index(text)}.html"
    path.write_bytes(player_page(trace))
    page.open(path.as_uri())
    assert page.text("#program") == f"{text}.py"
    assert page.evaluate("document.title").startswith(text.replace("</script>", "</script>")) or "/" in text
    page.evaluate("S.own = [5, 6, 8]")
    for number in range(0, len(trace), 10):
        go(page, number)
    shown = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    assert text in page.text("#panes") or shown in page.text("#panes")
    assert page.evaluate("typeof window.broken") == "undefined"
    assert page.evaluate("document.querySelectorAll('img, b:not(#program), #page script').length") == 0
