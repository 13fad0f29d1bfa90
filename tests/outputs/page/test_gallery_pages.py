"""The list of a gallery, and a page in a frame of another page, in a real browser."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.gallery.index_page import Entry, Group, index_page
from dispatchviz.outputs.page.gallery_links import GalleryLinks
from dispatchviz.outputs.page.player_page import player_page
from dispatchviz.outputs.page.remarks_data import remarks_data
from tests.lessons.own_lesson import QUESTIONS, guide, written
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, opened
from tests.waiting import HANGS

pytestmark = IN_BROWSER

GROUPS = (
    Group("Programs", "", [Entry("programs/a b.html", "`net.py`", "Adds <two> & three.")]),
    Group("Lessons", "Ask first.", [Entry(f"lessons/{at}.html", f"Lesson {at}") for at in range(8)]),
)


def load(page: Page, path: Path) -> None:
    """Load a page that has no steps."""
    page.send("Page.navigate", url=path.as_uri())
    until = time.monotonic() + HANGS
    while page.evaluate("document.readyState + location.href") != f"complete{path.as_uri()}":
        assert time.monotonic() < until


@pytest.fixture
def index(page: Page, tmp_path: Path) -> Page:
    (tmp_path / "index.html").write_bytes(index_page(GROUPS))
    load(page, tmp_path / "index.html")
    return page


@pytest.mark.parametrize("width", [1280, 800, 390])
def test_list_fits_into_the_window(index: Page, width: int) -> None:
    index.size(width, 800)
    assert index.evaluate("document.documentElement.scrollWidth") <= width
    assert index.evaluate("getComputedStyle(document.querySelector('li')).borderRadius") == "6px"


def test_screen_reader_gets_the_groups_and_the_links(index: Page) -> None:
    nodes = index.send("Accessibility.getFullAXTree")["nodes"]
    named = [(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes if not node["ignored"]]
    assert {("region", "Programs"), ("region", "Lessons"), ("heading", "Lessons"), ("link", "net.py")} <= {*named}
    assert named.count(("link", "Lesson 3")) == 1
    assert index.text("li span") == "Adds <two> & three."
    assert index.evaluate("document.querySelector('li a').getAttribute('href')") == "programs/a%20b.html"


def test_embedded_page_is_compact_and_leaves_the_focus(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "?embed#step=60")
    page.size(780, 420)
    assert page.evaluate("document.activeElement === document.body")
    shown = "[...document.querySelectorAll('#bar button, .pane')].filter((each) => each.checkVisibility()).length"
    assert page.evaluate(shown) == 6 + 2
    assert page.evaluate("element('whole').href").endswith("forum.html#step=60")
    assert page.evaluate("document.documentElement.scrollHeight") <= 420
    page.size(500, 360)
    page.evaluate("act(MOVES.into)")
    assert page.evaluate("document.documentElement.scrollHeight") <= 360
    assert page.evaluate("document.documentElement.scrollWidth") <= 500


@pytest.fixture
def gallery(page: Page, tmp_path: Path) -> Page:
    """Return a page of a gallery, with a lesson that has another one behind it."""
    of = guide(written(tmp_path, QUESTIONS))
    links = GalleryLinks("../index.html", "Two <b>", "../lessons/two.html")
    (tmp_path / "first.html").write_bytes(player_page(of.trace, of, links))
    page.open((tmp_path / "first.html").as_uri())
    return page


def test_last_place_of_a_lesson_links_to_the_next_one_and_to_the_list(gallery: Page) -> None:
    gallery.evaluate("while (S.place < D.lesson.length - 1 || A.open) act(MOVES.resume)")
    assert "all pages" not in gallery.text("#note")
    gallery.evaluate("act(MOVES.resume)")
    assert gallery.text("#note").endswith("The next lesson: Two <b> all pages")
    address = "[...document.querySelectorAll('#note a')].map((each) => each.getAttribute('href'))"
    assert gallery.evaluate(address) == ["../lessons/two.html", "../index.html"]


def test_link_to_the_list_is_on_a_phone_but_not_in_a_frame(gallery: Page) -> None:
    gallery.size(390, 800, touch=True)
    shown = (
        "document.elementFromPoint(...(({ x, y }) => [x + 2, y + 2])(element('contents').getBoundingClientRect())).id"
    )
    assert gallery.evaluate(shown) == "contents"
    assert gallery.evaluate("document.documentElement.scrollWidth") <= 390
    gallery.open(f"{gallery.evaluate('location.href').partition('#')[0]}?embed")
    assert not gallery.evaluate("element('contents').checkVisibility()")


@pytest.mark.parametrize(("after", "names"), [("mine.py", False), ("engine", True), ("", False)])
def test_lesson_alone_names_the_next_one_only_if_it_ships(tmp_path: Path, after: str, names: bool) -> None:
    of = guide(written(tmp_path, QUESTIONS))
    of.after = after
    end = remarks_data(of)["lesson_end"]
    assert ("The next lesson is engine" in str(end)) == names
    assert ("The next lesson" in str(end)) == names
