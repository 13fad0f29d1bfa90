"""The page in the output of a cell, in a real browser: it steps, and reaches nothing outside its frame. Skipped without
Chromium.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.trace import Trace
from tests.outputs.page.browser import CHROMIUM, Page, browser
from tests.tui.programs import example
from tests.waiting import HANGS

pytestmark = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]

AT = "document.documentElement.dataset.opened && document.querySelector('header').textContent"


@pytest.fixture(scope="module")
def forum() -> Trace:
    return example("forum.py")


@pytest.fixture
def page(forum: Trace, tmp_path: Path) -> Iterator[Page]:
    """A page with the output of a cell, whose frame has the focus."""
    saved = tmp_path / "saved.html"
    saved.write_text(f"<!doctype html><meta charset=utf-8><title>saved</title>{forum._repr_html_()}", "utf-8")
    with browser() as opened:
        opened.size(1000, 800)
        opened.send("Page.navigate", url=saved.as_uri())
        seen(opened, lambda: opened.in_frame(AT))
        seen(opened, lambda: has_the_focus(opened))
        yield opened


def has_the_focus(page: Page) -> bool:
    """Return whether the frame has the focus. A click gives it, once the browser knows where the frame is."""
    for kind in ("mousePressed", "mouseReleased"):
        page.send("Input.dispatchMouseEvent", type=kind, x=500, y=120, button="left", clickCount=1)
    return bool(page.in_frame("document.hasFocus()"))


def seen(page: Page, what: Callable[[], Any]) -> None:
    """Wait until a condition holds."""
    until = time.monotonic() + HANGS
    while not what():
        assert time.monotonic() < until, page.complaints
        time.sleep(0.02)


def step_of(page: Page) -> int:
    found = re.search(r"step (\d+) of \d+", str(page.in_frame(AT)))
    return int(found[1])


def typed(page: Page, key: str, text: str) -> None:
    """Open a dialog with a key and answer it."""
    page.keys(key)
    seen(page, lambda: page.in_frame("document.activeElement.localName === 'input'"))
    page.write(text)
    page.keys("Enter")


def test_keys_step_in_the_frame(page: Page, forum: Trace) -> None:
    page.keys("g")
    seen(page, lambda: step_of(page) == 0)
    page.keys("End")
    seen(page, lambda: step_of(page) > forum.steps_of(ev.NodeStarted)[-1])
    page.keys("Home", "]", "n")
    seen(page, lambda: step_of(page) == forum.steps_of(ev.NodeCreated)[0])
    assert page.complaints == []
    assert page.requests == []


def test_typed_keys_are_handled_by_the_frame(page: Page, forum: Trace) -> None:
    """A dialog in a sandboxed frame closes only where forms are allowed."""
    typed(page, ":", "50")
    seen(page, lambda: step_of(page) == 50)
    typed(page, "/", "AccumulateGrad")
    seen(page, lambda: "AccumulateGrad" in label(forum, step_of(page)))


def test_instead_of_a_link_the_step_is_named(page: Page) -> None:
    page.keys("g", "y")
    seen(page, lambda: "step 0" in str(page.in_frame("document.querySelector('#note').textContent")))
    assert "about:" not in page.in_frame("document.querySelector('#note').textContent")


def test_the_frame_reaches_nothing_around_it(page: Page) -> None:
    reaches = "(() => { try { return parent.document.title } catch { return 'nothing' } })()"
    assert page.in_frame(reaches) == "nothing"
    assert page.evaluate("document.title") == "saved"
