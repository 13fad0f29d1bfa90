"""A page in the browser: opened at a step, asked where it is, told where to go."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.page.player_page import player_page
from tests.outputs.page.browser import CHROMIUM, Page

IN_BROWSER = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
"""Without a Chromium such tests are skipped."""


def opened(page: Page, folder: Path, trace: Trace, name: str, behind: str = "") -> Page:
    """The page of a trace, which is made once for all tests that call it by that name."""
    path = folder / f"{name}.html"
    if not path.exists():
        path.write_bytes(player_page(trace))
    page.open(f"{path.as_uri()}{behind}")
    return page


def at(page: Page) -> int:
    """The step that it shows."""
    return int(page.evaluate("S.at"))


def go(page: Page, to: int) -> None:
    """To a step, as a click on it does."""
    page.evaluate(f"act(() => goTo({to}))")
