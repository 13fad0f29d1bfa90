"""Helpers to open a page at a step, to read its step, and to go to another."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.page.player_page import player_page
from tests.outputs.page.browser import CHROMIUM, Page

IN_BROWSER = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
"""The mark of tests that need a Chromium and are skipped without one."""


def opened(page: Page, folder: Path, trace: Trace, name: str, behind: str = "") -> Page:
    """Open the page of a trace. It is made once for all tests that use the same name."""
    path = folder / f"{name}.html"
    if not path.exists():
        path.write_bytes(player_page(trace))
    page.open(f"{path.as_uri()}{behind}")
    return page


def at(page: Page) -> int:
    """Return the step that the page shows."""
    return int(page.evaluate("S.at"))


def go(page: Page, to: int) -> None:
    """Go to a step, as a click on it does."""
    page.evaluate(f"act(() => goTo({to}))")
