"""The environment of every test, which does not depend on the person who runs the tests."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.amounts import PINNED, in_turn, not_in_turn
from tests.own_folders import left_as_it_is
from truth.record import command

CHANGING = (
    "NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS", "LINES", "DISPATCHVIZ_CUDA", "CUDA_VISIBLE_DEVICES",
    "DISPATCHVIZ_ENGINE", "PYTHONPATH",
)  # fmt: skip
"""Environment variables that change screens or results."""

# Programs started here end by these signals, also where the tests themselves run under nohup or `&`, which ignore them.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
os.environ["OMP_NUM_THREADS"] = "1"  # as when PyTorch was recorded; read when the first test imports the package

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
"""How long an example takes depends on the machine."""


TESTS = count()
"""A number that separates tests, so that state such as layouts of panes does not pass from one to the next."""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Remove the variables of the developer's terminal, and keep files out of the developer's home."""
    home = Path(tmp_path_factory.getbasetemp()) / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    for name in CHANGING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path(tmp_path_factory.getbasetemp()) / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(Path(tmp_path_factory.getbasetemp()) / f"state-{next(TESTS)}"))


@pytest.fixture(autouse=True)
def writes_into_own_folders() -> Iterator[None]:
    """Fail a test that leaves a file in the project's folder."""
    with left_as_it_is():
        yield


@pytest.fixture(autouse=True)
def as_in_a_new_process() -> None:
    """Make random numbers and warnings independent of the tests that ran before in this process."""
    from dispatchviz.core.native.random.generator import DEFAULT_SEED, manual_seed
    from dispatchviz.core.thread import warning

    manual_seed(DEFAULT_SEED)
    warning.set_warn_always(False)


STARTS = pytest.StashKey[str]()
"""The reason for skipping a test that starts something."""


@pytest.fixture(autouse=True)
def starts_nothing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip a test at the moment when it starts an app or a process, with ``--start-nothing``."""

    def skip(reason: str) -> None:
        request.node.stash[STARTS] = reason
        pytest.skip(reason)

    if request.config.getoption("--start-nothing"):
        monkeypatch.setattr("textual.app.App.run_test", lambda *_, **__: skip("starts an app"))
        monkeypatch.setattr("subprocess.Popen.__init__", lambda *_, **__: skip("starts a process"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip a test whose recorded program caught the skip of ``starts_nothing``."""
    try:
        yield
    except Exception:
        if STARTS not in item.stash:
            raise
        pytest.skip(item.stash[STARTS])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--sample`` and ``--start-nothing`` for ``make quick``, and ``--turns`` for the gate."""
    parser.addoption("--start-nothing", action="store_true", help="skip a test when it starts an app or a process")
    parser.addoption("--sample", type=int, metavar="N", help="of the cases of one test run N at most, evenly spread")
    parser.addoption("--turns", action="store_true", help="of some folders a part of the tests, another one in turn")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the import of files without a ``torch`` mark if only such tests are wanted."""
    if not config.option.markexpr.startswith("torch") or not collection_path.name.startswith("test_"):
        return None
    marking = (collection_path, collection_path.parent / "conftest.py")
    return None if any("mark.torch" in file.read_text("utf-8") for file in marking if file.exists()) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests marked ``long`` first, so that no process waits for another at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    pinned = sorted((item for item in items if item.get_closest_marker("pinned")), key=lambda item: item.nodeid)
    _keep(set(items) - set(pinned) | set(in_turn(pinned, PINNED)), config, items)
    if config.getoption("--turns"):
        waiting = not_in_turn(item.nodeid for item in items)
        _keep({item for item in items if item.nodeid not in waiting}, config, items)
    if most := config.getoption("--sample"):
        _keep(set(_sampled(items, most)), config, items)


def _keep(kept: set[pytest.Item], config: pytest.Config, items: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish() -> None:
    """Freeze the collected tests, so that garbage collections need not look through them."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Unfreeze everything at the end of the process, because libraries count their remaining objects."""
    gc.unfreeze()


def _sampled(items: list[pytest.Item], most: int) -> Iterator[pytest.Item]:
    """Yield at most ``most`` cases of each test function, always the same ones."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for found in cases.values():
        yield from found if len(found) <= most else [found[k * len(found) // most] for k in range(most)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed comparison with a record of PyTorch how to make that record again."""
    report = yield
    marks = [*item.iter_markers("record")] if report.failed else []
    if marks:
        commands = dict.fromkeys(command(str(name)) for mark in marks for name in mark.args)
        report.sections.append(("if PyTorch does otherwise, make the record again", "\n".join(commands)))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts of ``test_opinfo_live`` and ``test_claims``, summed over all processes, if they ran."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    recorded = [pair for report in reports if getattr(report, "when", "") == "call" for pair in report.user_properties]
    _samples(terminalreporter, recorded)
    _claims(terminalreporter, recorded)


def _samples(terminalreporter: pytest.TerminalReporter, recorded: list[tuple[str, object]]) -> None:
    rows = [tuple(value) for name, value in recorded if name == "opinfo_row"]  # type: ignore[arg-type]
    missing = [str(value) for name, value in recorded if name == "opinfo_missing"]
    if rows or missing:
        from tests.conformance.opinfo.report import table

        terminalreporter.section("PyTorch's samples per operator")
        terminalreporter.write_line(table(rows, missing))


def _claims(terminalreporter: pytest.TerminalReporter, recorded: list[tuple[str, object]]) -> None:
    counted = [value for name, value in recorded if name == "claims"]
    if counted:
        from tests.claims.report import table

        programs = sum(int(str(value)) for name, value in recorded if name == "claims_programs")
        terminalreporter.section("what sentences state, put to PyTorch")
        terminalreporter.write_line(table(programs, counted))
