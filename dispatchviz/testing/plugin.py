"""The pytest plugin: the fixture ``dispatch_trace``, and its log in the report of a test that fails.

Idle unless a test uses the fixture: nothing of the package is imported before.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dispatchviz.trace import Trace

pytest.register_assert_rewrite("dispatchviz.testing.expectations")

TRACE = pytest.StashKey["Trace"]()
LINES = 30
"""Lines of the log that a report shows, unless more are requested."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--dispatchviz-keep`` and ``--dispatchviz-lines``."""
    group = parser.getgroup("dispatchviz", "dispatch traces (fixture dispatch_trace)")
    group.addoption(
        "--dispatchviz-keep",
        action="store_true",
        help="save the trace of every failed test with the fixture dispatch_trace and print the command that opens it",
    )
    group.addoption(
        "--dispatchviz-lines",
        type=int,
        default=LINES,
        metavar="N",
        help=f"lines of the log that the report of a failed test shows, around the step that differs (default {LINES}; "
        "0: all)",
    )


@pytest.fixture
def dispatch_trace(request: pytest.FixtureRequest) -> Iterator[Trace]:
    """The trace of what this test dispatches, from its setup on; its log is shown if the test fails."""
    from dispatchviz.recording import record

    with record(program=request.node.nodeid) as trace:
        request.node.stash[TRACE] = trace
        yield trace


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts the log into the report of a failed test."""
    report = yield
    trace = item.stash.get(TRACE, None)
    if trace is not None and call.excinfo is not None and report.when == "call" and report.failed:
        step = getattr(call.excinfo.value, "dispatchviz_step", None)
        report.sections.append(("dispatchviz log", _log(trace, step, item.config.getoption("dispatchviz_lines"))))
        if item.config.getoption("dispatchviz_keep"):
            at = "" if step is None else f"--step {step} "
            report.sections.append(("dispatchviz trace", f"dispatchviz open {at}{_keep(trace, item)}"))
    return report


def _log(trace: Trace, step: int | None, most: int) -> str:
    """The text log around a step, or why there is none: a report must come out in any case."""
    from dispatchviz.core.record.trace_file import Trace as Still
    from dispatchviz.render.log.text_log import text_log

    try:
        head, *lines = text_log(Still(trace.header, list(trace.events)))
    except Exception as error:
        return f"the log of {len(trace)} steps cannot be shown: {error!r}"
    at = next((k for k, line in enumerate(lines) if line.split()[:1] == [str(step)]), len(lines))
    return "\n".join([head, *_around(lines, at, most or len(lines))])


def _around(lines: list[str], at: int, most: int) -> list[str]:
    """So many lines, with one in the middle as far as possible, and how many were left out."""
    begin = max(0, min(at - most // 2, len(lines) - most))
    shown = lines[begin : begin + most]
    more = "--dispatchviz-lines=0 shows all"
    before = [f"... {begin} lines before; {more} ..."] * bool(begin)
    left = len(lines) - begin - len(shown)
    return [*before, *shown, *[f"... {left} lines after; {more} ..."] * bool(left)]


def _keep(trace: Trace, item: pytest.Item) -> Path:
    """Saves the trace in pytest's cache folder and gives its path."""
    folder = item.config.rootpath / ".pytest_cache" / "d" / "dispatchviz"
    cache = getattr(item.config, "cache", None)
    if cache is not None:
        folder = cache.mkdir("dispatchviz")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r"[^\w.-]+", "-", item.nodeid).strip("-") + ".jsonl.gz")
    trace.save(path)
    return Path(path)
