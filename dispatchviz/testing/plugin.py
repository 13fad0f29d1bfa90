"""The pytest plugin: the fixture ``dispatch_trace``, and its log in the report of a failed test.

Nothing of the package is imported until a test uses the fixture. ``reports.py`` writes the report, and is imported when
a test fails.
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
"""The step of the first difference in the last comparison with a text."""

ACCEPTED = "dispatchviz accepted"
"""The property of a report with the golden logs that a test wrote. xdist sends it to its main process."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--dispatchviz-keep``, ``--dispatchviz-lines`` and ``--dispatchviz-accept``."""
    group = parser.getgroup("dispatchviz", "dispatch traces (fixture dispatch_trace)")
    group.addoption(
        "--dispatchviz-keep",
        action="store_true",
        help="save the trace of every failed test that uses dispatch_trace, and print the command that opens it",
    )
    group.addoption(
        "--dispatchviz-lines",
        type=int,
        default=None,
        metavar="N",
        help="show this many lines of the log in the report of a failed test, around the step that differs (default: "
        "so that the report has 26 lines; 0: all)",
    )
    group.addoption(
        "--dispatchviz-accept",
        action="store_true",
        help="write the golden logs of assert_golden instead of comparing them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Switch to writing golden logs if the command line asks for it."""
    if config.getoption("dispatchviz_accept"):
        from dispatchviz.testing.golden_log import Accepting

        Accepting.on = True


@pytest.fixture
def dispatch_trace(request: pytest.FixtureRequest) -> Iterator[Trace]:
    """Record the dispatches of a test, including its setup, as a trace. If the test fails, its report shows the log."""
    from dispatchviz.running.recording import record

    with record(program=request.node.nodeid) as trace:
        request.node.stash[TRACE] = trace
        yield trace


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed ``graph(trace) == "..."`` or similar comparison: both texts around their first difference."""
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
    """Add the log to the report of a failed test, and the golden logs that were written to any report."""
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
    """List the golden logs that were written."""
    if terminalreporter.config.getoption("dispatchviz_accept"):
        reports = [report for each in terminalreporter.stats.values() for report in each]
        found = [value for each in reports for name, value in getattr(each, "user_properties", ()) if name == ACCEPTED]
        terminalreporter.section("dispatchviz golden logs")
        terminalreporter.write_line("\n".join(f"accepted {file}" for file in dict.fromkeys(found)) or "nothing changed")
