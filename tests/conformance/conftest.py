"""The tests here need a real PyTorch: `make conformance` has one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all of them ``torch``."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.torch)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The counts of ``test_opinfo_live``, if it ran."""
    opinfo = sys.modules.get("tests.conformance.opinfo.report")
    if opinfo is not None and (opinfo.REPORTS or opinfo.MISSING):
        terminalreporter.section("PyTorch's samples per operator")
        terminalreporter.write_line(opinfo.table(opinfo.REPORTS, opinfo.MISSING))
