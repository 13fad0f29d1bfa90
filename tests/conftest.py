"""What every test stands on: an environment that does not depend on who runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

CHANGING = ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS", "LINES", "DISPATCHVIZ_CUDA", "PYTHONPATH")
"""Variables that change screens or results."""

os.environ["OMP_NUM_THREADS"] = "1"  # as when PyTorch was recorded; read when the first test imports the package

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
"""How long an example takes depends on the machine."""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No variable of the developer's terminal, no file in the developer's home."""
    for name in CHANGING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path(tmp_path_factory.getbasetemp()) / "cache"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those marked ``long`` come first, so that at the end no process waits for another."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What ``test_opinfo_live`` and ``test_claims`` counted, if they ran, in however many processes."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    told = [pair for report in reports if getattr(report, "when", "") == "call" for pair in report.user_properties]
    _samples(terminalreporter, told)
    _claims(terminalreporter, told)


def _samples(terminalreporter: pytest.TerminalReporter, told: list[tuple[str, object]]) -> None:
    rows = [tuple(value) for name, value in told if name == "opinfo_row"]  # type: ignore[arg-type]
    missing = [str(value) for name, value in told if name == "opinfo_missing"]
    if rows or missing:
        from tests.conformance.opinfo.report import table

        terminalreporter.section("PyTorch's samples per operator")
        terminalreporter.write_line(table(rows, missing))


def _claims(terminalreporter: pytest.TerminalReporter, told: list[tuple[str, object]]) -> None:
    counted = [value for name, value in told if name == "claims"]
    if counted:
        from tests.claims.report import table

        programs = sum(int(str(value)) for name, value in told if name == "claims_programs")
        terminalreporter.section("what sentences state, put to PyTorch")
        terminalreporter.write_line(table(programs, counted))
