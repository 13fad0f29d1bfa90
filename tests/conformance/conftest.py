"""The tests here need a real PyTorch: `make conformance` has one."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all of them ``torch``."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.torch)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The counts of ``test_opinfo_live``, if it ran, in however many processes."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    told = [pair for report in reports if getattr(report, "when", "") == "call" for pair in report.user_properties]
    rows = [tuple(value) for name, value in told if name == "opinfo_row"]
    missing = [str(value) for name, value in told if name == "opinfo_missing"]
    if rows or missing:
        from tests.conformance.opinfo.report import table

        terminalreporter.section("PyTorch's samples per operator")
        terminalreporter.write_line(table(rows, missing))
