"""Fixtures that make the terminal the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dispatchviz.tui.terminal.keymaps import VARIABLE
from dispatchviz.views.keymap import use


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove environment variables that change screens."""
    for name in ("NO_COLOR", "TERM", "COLUMNS", "LINES", "COLORTERM", "TEXTUAL_THEME", VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def default_keys() -> Iterator[None]:
    """Restore the default keymap after each test."""
    yield
    use(None)
