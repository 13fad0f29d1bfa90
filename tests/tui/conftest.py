"""A terminal that is the same everywhere."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes screens is taken out of the environment."""
    for name in ("NO_COLOR", "TERM", "COLUMNS", "LINES", "COLORTERM", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)
