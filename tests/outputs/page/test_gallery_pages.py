"""The list of a gallery, and a page in a frame of another page, in a real browser."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.gallery.index_page import Entry, Group, index_page
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
