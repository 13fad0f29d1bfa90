"""The pytest plugin: the fixture ``dispatch_trace``, and its log in the report of a failed test.

Nothing of the package is imported until a test module names the fixture, or the settings name an engine. ``reports.py``
writes the report, and is imported when a test fails.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dispatchviz.running.recording import EngineName
    from dispatchviz.trace import Trace

pytest.register_assert_rewrite("dispatchviz.testing.expectations")

TRACE = pytest.StashKey["Trace"]()
COMPARED = pytest.StashKey["int | None"]()
"""The step of the first difference in the last comparison with a text."""

ENGINE = pytest.StashKey[str]()
"""The engine that the settings name."""
ENGINES = ("auto", "model", "torch")
FIXTURE = b"dispatch_trace"
FOLLOWS = pytest.StashKey[bool]()
"""True if registrations are followed."""
HEADERS = {
    "model": "dispatchviz: import torch means the model of PyTorch",
    "torch": "dispatchviz: traces are of the installed PyTorch",
}

ACCEPTED = "dispatchviz accepted"
"""The property of a report with the golden logs that a test wrote. xdist sends it to its main process."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--dispatchviz-engine``, ``--dispatchviz-keep``, ``--dispatchviz-lines`` and ``--dispatchviz-accept``."""
    group = parser.getgroup("dispatchviz", "dispatch traces (fixture dispatch_trace)")
    parser.addini("dispatchviz_engine", "the engine to record: auto, model or torch (default: auto)", default="auto")
    group.addoption(
        "--dispatchviz-engine",
        choices=ENGINES,
        default=None,
        help="record the model of PyTorch, for which `import torch` then means the model in every test; or the "
        "installed PyTorch; or what each test imports (default: dispatchviz_engine in the ini file, else auto)",
    )
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


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Choose the engine before a conftest or a test imports ``torch``."""
    _choose_engine(early_config, early_config.known_args_namespace.dispatchviz_engine)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the engine, and switch to writing golden logs if the command line asks for it."""
    _choose_engine(config, config.getoption("dispatchviz_engine"))
    if config.getoption("dispatchviz_accept"):
        from dispatchviz.testing.golden_log import Accepting

        Accepting.on = True


def _choose_engine(config: pytest.Config, asked: str | None) -> None:
    """Store the engine that the settings name. For the model, let ``import torch`` mean it until the session ends.

    Raise UsageError if the engine does not exist or is not installed.
    """
    if ENGINE in config.stash:
        return
    engine = config.stash[ENGINE] = asked or config.getini("dispatchviz_engine")
    setting = f"--dispatchviz-engine={asked}" if asked else f"dispatchviz_engine = {engine}"
    if engine not in ENGINES:
        raise pytest.UsageError(f"{setting}: the engines are {', '.join(ENGINES)}")
    if engine == "torch":
        from dispatchviz.testing.torch_modules import has_pytorch

        if not has_pytorch():
            raise pytest.UsageError(
                f"{setting}: no PyTorch is installed here; install one, or choose the model with "
                "--dispatchviz-engine=model"
            )
        _follow_kernels(config)
    if engine == "model":
        from dispatchviz.running.import_hook import torch_is_the_model

        _until_the_end(config, torch_is_the_model())


def _follow_kernels(config: pytest.Config) -> None:
    """Remember the Python kernels that libraries register until the session ends, because PyTorch hides them."""
    if FOLLOWS not in config.stash:
        from dispatchviz.live.early_kernels import early_kernels_followed

        config.stash[FOLLOWS] = True
        _until_the_end(config, early_kernels_followed())


def _until_the_end(config: pytest.Config, manager: AbstractContextManager[None]) -> None:
    """Enter a context manager until the session ends."""
    entered = ExitStack()
    entered.enter_context(manager)
    config.add_cleanup(entered.close)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Prepare for a module that uses the fixture. It is not imported yet."""
    config = parent.config
    if config.stash[ENGINE] != "auto" or FOLLOWS in config.stash or FIXTURE not in module_path.read_bytes():
        return
    from dispatchviz.testing.torch_modules import has_pytorch

    if has_pytorch():
        _follow_kernels(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Show the engine if the settings name one."""
    return HEADERS.get(config.stash[ENGINE])


@pytest.fixture
def dispatch_trace(request: pytest.FixtureRequest) -> Iterator[Trace]:
    """Record the dispatches of a test, including its setup, as a trace. If the test fails, its report shows the log."""
    from dispatchviz.running.recording import record

    with record(program=request.node.nodeid, engine=_engine_of(request)) as trace:
        request.node.stash[TRACE] = trace
        yield trace


def _engine_of(request: pytest.FixtureRequest) -> EngineName:
    """Return the engine to record for a test. Fail, with one line, if it cannot be recorded."""
    from dispatchviz.foundation.errors import DispatchvizError
    from dispatchviz.testing.engine_choice import engine_of

    node = request.node
    try:
        engine = engine_of(request.config.stash[ENGINE], getattr(node, "module", None), getattr(node, "function", None))
        if engine == "torch":
            from dispatchviz.live.installed_torch import installed_torch

            installed_torch()
            _follow_kernels(request.config)
    except DispatchvizError as error:
        pytest.fail(str(error), pytrace=False)
    return engine


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
    if call.excinfo is None or (trace is None and not _runs_on_the_model()):
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
    if trace is not None and report.when == "teardown":
        del item.stash[TRACE]
    return report


def _runs_on_the_model() -> bool:
    """Return whether the session runs in a program that is recorded on the model: ``dispatchviz run -m pytest``."""
    seam: Any = sys.modules.get("dispatchviz.core.seam.recorder")
    return seam is not None and seam.active is not None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the golden logs that were written."""
    if terminalreporter.config.getoption("dispatchviz_accept"):
        reports = [report for each in terminalreporter.stats.values() for report in each]
        found = [value for each in reports for name, value in getattr(each, "user_properties", ()) if name == ACCEPTED]
        terminalreporter.section("dispatchviz golden logs")
        terminalreporter.write_line("\n".join(f"accepted {file}" for file in dict.fromkeys(found)) or "nothing changed")
