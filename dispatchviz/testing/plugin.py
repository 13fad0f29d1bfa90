"""The pytest plugin: the fixture ``dispatch_trace``, and its log in the report of a test that fails.

Idle unless a test uses the fixture: nothing of the package is imported before. What a report has is in ``reports.py``,
which is imported when a test fails.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dispatchviz.trace import Trace

pytest.register_assert_rewrite("dispatchviz.testing.expectations")

TRACE = pytest.StashKey["Trace"]()
COMPARED = pytest.StashKey["int | None"]()
"""The step at which the last comparison with a text showed a difference."""

ACCEPTED = "dispatchviz accepted"
"""The property of a report that has the golden logs which a test wrote: it comes to the main process of xdist, too."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--dispatchviz-keep``, ``--dispatchviz-lines`` and ``--dispatchviz-accept``."""
    group = parser.getgroup("dispatchviz", "dispatch traces (fixture dispatch_trace)")
    group.addoption(
        "--dispatchviz-keep",
        action="store_true",
        help="save the trace of every failed test with the fixture dispatch_trace and print the command that opens it",
    )
    group.addoption(
        "--dispatchviz-lines",
        type=int,
        default=None,
        metavar="N",
        help="lines of the log that the report of a failed test shows, around the step that differs (default: as many "
        "as make the report 26 lines long; 0: all)",
    )
    group.addoption(
        "--dispatchviz-accept",
        action="store_true",
        help="write the golden logs that assert_golden compares with, instead of comparing",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Golden logs are written from now on if the command line says so."""
    if config.getoption("dispatchviz_accept"):
        from dispatchviz.testing.golden_log import Accepting

        Accepting.on = True


@pytest.fixture
def dispatch_trace(request: pytest.FixtureRequest) -> Iterator[Trace]:
    """The trace of what this test dispatches, from its setup on; its log is shown if the test fails."""
    from dispatchviz.running.recording import record

    with record(program=request.node.nodeid) as trace:
        request.node.stash[TRACE] = trace
        yield trace


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Both texts around their first difference, of ``graph(trace) == "..."`` and its like."""
    shown, expected = (left, right) if type(left).__name__ == "TraceText" else (right, left)
    if op != "==" or type(shown).__name__ != "TraceText" or not isinstance(expected, str):
        return None
    text: Any = shown
    config.stash[COMPARED] = text.step(expected)
    lines: list[str] = text.difference(expected)
    return lines


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the log into the report of a failed test, and into any one which golden logs were written."""
    trace = item.stash.get(TRACE, None)
    if trace is None or call.excinfo is None:
        report = yield
    else:
        from dispatchviz.testing.reports import own_frames_hidden

        with own_frames_hidden(call.excinfo.value):
            report = yield
    if item.config.getoption("dispatchviz_accept"):
        from dispatchviz.testing.golden_log import Accepting

        report.user_properties += [(ACCEPTED, file) for file in Accepting.written]
        Accepting.written.clear()
    if trace is not None and call.excinfo is not None and report.when == "call" and report.failed:
        from dispatchviz.testing.reports import add_log

        add_log(report, item, trace, call.excinfo.value, item.config.stash.get(COMPARED, None))
    item.config.stash[COMPARED] = None
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Which golden logs were written."""
    if terminalreporter.config.getoption("dispatchviz_accept"):
        reports = [report for each in terminalreporter.stats.values() for report in each]
        found = [value for each in reports for name, value in getattr(each, "user_properties", ()) if name == ACCEPTED]
        terminalreporter.section("dispatchviz golden logs")
        terminalreporter.write_line("\n".join(f"accepted {file}" for file in dict.fromkeys(found)) or "nothing changed")
