"""Sizes, colors, paper, fingers and screen readers, in a real browser."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.page.player_page import player_page
from dispatchviz.views.layout.pane_layout import GRAPH
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, at, go, opened
from tests.steps import last_step, step

pytestmark = IN_BROWSER


@pytest.mark.parametrize("width", [375, 700, 1024, 1600])
def test_nothing_is_wider_than_the_window(page: Page, folder: Path, forum: Trace, width: int) -> None:
    page.size(width, 740, touch=width < 500)
    opened(page, folder, forum, "forum")
    for number in range(0, len(forum), 25):
        go(page, number)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, number


def test_backward_graph_has_more_room_than_other_panes(page: Page, folder: Path, forum: Trace) -> None:
    page.size(1280, 720)
    opened(page, folder, forum, "forum")
    go(page, step(forum, ev.NodeCreated))
    heights = "[...document.querySelectorAll('#panes .pane')].map((each) => [each.dataset.pane, each.offsetHeight])"
    found = {int(pane): height for pane, height in page.evaluate(heights)}
    assert found[GRAPH] > 1.3 * min(found.values())


def test_row_that_does_not_fit_ends_in_dots_and_has_a_title(page: Page, folder: Path, forum: Trace) -> None:
    page.size(720, 700)
    opened(page, folder, forum, "forum")
    go(page, step(forum, ev.KernelEntered))
    page.keys("4")
    told = "[getComputedStyle(row).textOverflow, row.title.includes(row.textContent.trim())]"
    rows = "[...document.querySelectorAll('[data-pane=\"4\"] .row.cut')]"
    cut = page.evaluate(f"{rows}.filter((row) => row.scrollWidth > row.clientWidth).map((row) => {told})")
    assert cut
    assert all(each == ["ellipsis", True] for each in cut)


def test_swipe_goes_to_the_next_step(page: Page, folder: Path, forum: Trace) -> None:
    page.size(375, 740, touch=True)
    opened(page, folder, forum, "forum", "#step=20")
    page.swipe((300, 60), (100, 62))
    after = at(page)
    assert after > 20
    page.swipe((100, 60), (300, 62))
    assert at(page) < after
    page.size(1280, 900)


def test_colors_switch_between_dark_and_light(page: Page, folder: Path, forum: Trace) -> None:
    def back() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    opened(page, folder, forum, "forum")
    light = back()
    page.scheme("dark")
    dark = back()
    assert light != dark
    page.keys("D")
    assert back() == light
    page.keys("D")
    assert back() == dark


def test_presenter_shows_one_pane_and_steps_by_page_keys(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "?present")
    assert page.evaluate("document.body.classList.contains('presenting')")
    assert page.evaluate("document.querySelectorAll('#panes > .pane').length") == 1
    before = at(page)
    page.keys("PageDown")
    assert at(page) > before
    page.keys("PageUp")
    assert at(page) == before
    page.keys("Escape")
    assert not page.evaluate("document.body.classList.contains('presenting')")


def test_page_prints_the_step_and_the_list(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.evaluate("addEventListener('afterprint', () => {}); beforePrint()")
    assert page.evaluate("element('paper').childElementCount") == page.evaluate("rows().length")
    assert page.paper().startswith(b"%PDF")
    page.scheme("dark", "print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "paper is white"


def test_every_screen_says_what_cuda_is(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    for size in ((375, 740), (1280, 900)):
        page.size(*size)
        for number in (0, len(forum) // 2, last_step(forum)):
            go(page, number)
            assert forum.header.cuda in page.text("#engine")
            assert page.evaluate("element('engine').getBoundingClientRect().width") > 50


def test_the_page_says_what_is_not_in_the_trace(page: Page, folder: Path, forum: Trace) -> None:
    header = msgspec.structs.replace(forum.header, remarks=("a forked process was not recorded",))
    opened(page, folder, Trace(header, forum.events, "the file is cut off"), "not all")
    assert page.text("#engine").endswith(" ! a forked process was not recorded ! the file is cut off")


def test_page_names_missing_browser_features(folder: Path, forum: Trace) -> None:
    text = player_page(forum).decode()
    assert "The page needs JavaScript" in text.partition("<script")[0]


def test_screen_reader_gets_the_tree_and_the_sentence(page: Page, folder: Path, loop: Trace) -> None:
    opened(page, folder, loop, "loop")
    page.keys("g", "ArrowDown", "ArrowRight")
    here: list[str] = page.evaluate(
        "(() => { const row = element(element('list').getAttribute('aria-activedescendant'));"
        "return [row.getAttribute('role'), row.getAttribute('aria-selected'), row.dataset.step] })()"
    )
    assert here == ["treeitem", "true", str(at(page))]
    assert page.evaluate("element('sentence').getAttribute('aria-live')") == "polite"
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button')].filter((each) => !each.textContent.trim() && !each.ariaLabel).length"
    )
    assert unnamed == 0


def test_a_term_is_marked_once_and_has_its_meaning(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.send("Emulation.setFocusEmulationEnabled", enabled=True)
    terms = "[...document.querySelectorAll('#why [data-term]')]"
    first = page.evaluate(
        f"{terms}.filter((each) => each.classList.contains('first')).map((each) => each.dataset.term)"
    )
    every = page.evaluate(f"{terms}.map((each) => each.dataset.term)")
    assert first == list(dict.fromkeys(every))
    assert {"Node", "dispatch key", "key set"} <= set(first)
    page.evaluate(f"{terms}[0].focus()")
    assert page.text("#meaning").startswith("Node The record of one operator in the backward graph.")
    assert page.evaluate("document.querySelector('#meaning').hidden") is False
    page.keys("Escape")
    assert page.evaluate("document.querySelector('#meaning').hidden") is True
    box = page.evaluate(f"(() => {{ const at = {terms}[1].getBoundingClientRect(); return [at.x + 3, at.y + 3]; }})()")
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    assert page.text("#meaning").startswith("dispatch key ")
    assert page.evaluate("document.querySelector('#meaning').hidden") is False
    assert page.evaluate("document.querySelectorAll('main [data-term]').length") == 0
