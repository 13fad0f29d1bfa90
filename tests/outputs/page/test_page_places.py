"""Ways to a step in the page, in a real browser: links, search, marks, breakpoints, the reader's history."""

from __future__ import annotations

from pathlib import Path

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, at, go, opened
from tests.steps import last_step

pytestmark = IN_BROWSER


def test_a_link_opens_at_its_step_and_follows_the_reader(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "#step=37")
    assert at(page) == 37
    page.keys("s")
    assert page.evaluate("new Promise((done) => setTimeout(() => done(location.hash), 500))") == f"#step={at(page)}"
    page.evaluate("location.hash = '#step=12'; new Promise((done) => setTimeout(done, 100))")
    assert at(page) == 12


def test_search_goes_from_hit_to_hit(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("g", "/")
    page.write("redispatch add")
    page.keys("Enter")
    hits = page.evaluate("[...S.hits]")
    assert hits
    assert at(page) == hits[0]
    page.keys(".")
    assert at(page) == hits[1 % len(hits)]
    page.keys(",")
    assert at(page) == hits[0]
    page.keys(":")
    page.write("50%")
    page.keys("Enter")
    assert at(page) == last_step(forum) // 2
    page.keys("Backspace")
    assert at(page) == hits[0]


def test_marks_are_stops_and_in_the_link(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "#step=20")
    page.keys("m")
    page.write("a <b>, 5%")
    page.keys("Enter")
    assert "●" in page.text("#rows")
    link = page.evaluate("new Promise((done) => setTimeout(() => done(location.href), 500))")
    page.open(link)
    assert page.evaluate("[...S.marks]") == [[20, "a <b>, 5%"]]
    page.keys("g", *"+++", "'")
    assert "a <b>, 5%" in page.text("#dialog")
    page.keys("ArrowDown", "Enter")
    assert at(page) == 20
    page.keys("S", "c")
    assert at(page) == 20
    page.keys("m")
    assert page.evaluate("S.marks.size") == 0


def test_breakpoints_are_stops_instead_of_lines(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("g", "b")
    page.write("line 6")
    page.keys("Enter", "c")
    line_6 = next(e.seq for e in forum.events if isinstance(e, ev.SourceLine) and e.line == 6)
    assert at(page) == line_6
    page.keys("B")
    assert page.text("#dialog").endswith("line 6  1 stop: 0 behind, 0 ahead")
    page.keys("Escape", "b", "Enter")
    assert "No breakpoints" in page.text("#note")


def test_history_lists_visited_places(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "#step=20")
    for place in (40, 60):
        go(page, place)
    page.keys("h", "ArrowDown", "Enter")
    assert at(page) == 20
    assert page.evaluate("S.undone.length") == 2
    page.keys("e", "e")
    assert at(page) == 60
