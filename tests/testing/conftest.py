"""The environment of pytest sessions that tests start."""

from __future__ import annotations

import pytest

UNCONCERNED = ("hypothesispytest", "inline_snapshot")
"""Plugins that take half a second of every session and are not needed."""


@pytest.fixture(autouse=True)
def plain_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the developer's options, and the variables of CI systems, on which pytest shortens nothing."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in UNCONCERNED))
