"""The environment of the sessions of pytest that tests begin."""

from __future__ import annotations

import pytest

UNCONCERNED = ("hypothesispytest", "inline_snapshot")
"""Plugins that take half a second of every session."""


@pytest.fixture(autouse=True)
def plain_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """No option of the developer's, and not what pytest does on CI systems, where nothing is shortened."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in UNCONCERNED))
