"""The pytest plugin, in a user's project. A session of pytest takes seconds, so tests share its output."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from textwrap import dedent

import numpy as np  # noqa: F401 # can be loaded only once, and pytester forgets modules imported while it runs
import pytest

from dispatchviz.trace import Trace

pytestmark = pytest.mark.long

ADDS = """
    import dispatchviz.torch as torch
    from dispatchviz.testing import assert_kernel_ran, assert_sequence, call, redispatch

    def test_add(dispatch_trace):
        x = torch.ones(2, requires_grad=True)
        y = x + x
        assert_kernel_ran(dispatch_trace, "wrapper_CPU_add_Tensor", under="CPU")
        assert y.requires_grad
"""

LONG = """
    import dispatchviz.torch as torch
    from dispatchviz.core.record.events import NodeCreated
    from dispatchviz.testing import *
"""


def _long(name: str, check: str) -> str:
    return f"""
    def {name}(dispatch_trace):
        for _ in range(20):
            torch.ones(2)
        torch.zeros(3)
        for _ in range(20):
            torch.ones(2)
        {check}
"""


MANY = """
    from dispatchviz import torch
    from dispatchviz.testing import *

    def product():
        x = torch.ones(2, requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        torch.ops.aten.mul.Tensor(x, w).sum().backward()
"""


def _product(name: str, check: str) -> str:
    return f"\n    def {name}(dispatch_trace):\n        product()\n        {check}\n"


# -- tests that fail ---------------------------------------------------------------------------------------------------

FAILING = {
    "test_add": ADDS.replace("wrapper_CPU_add_Tensor", "wrapper_CUDA_add_Tensor"),
    "test_long": LONG
    + _long("test_middle", "assert_never(dispatch_trace, call('aten::zeros'))")
    + _long("test_end", "assert dispatch_trace is None")
    + _long("test_wrong_name", "assert_never(dispatch_trace, call('zeros'))"),
    "test_texts": MANY
    + _product("test_left", "assert graph(dispatch_trace) == 'Sum -> Mul'")
    + _product("test_right", "assert 'Sum -> Mul' == graph(dispatch_trace)"),
    "test_lines": f"{MANY}\n    def test_lines(dispatch_trace):\n"
    + "".join(f"        torch.ones({k + 1})\n" for k in range(40))
    + "        assert_never(dispatch_trace, call())\n",
    "test_empty": ADDS.replace("test_add", "test_empty")
    .replace("x + x", "x")
    .replace("x = torch.ones(2, requires_grad=True)", "x = None"),
}
"""The files of a user's project."""

Reports = dict[str, pytest.LineMatcher]
"""The reports of failed tests."""


def _reports(output: str) -> Reports:
    failures, *_ = re.split(r"^=+ short test summary info =+$", output, flags=re.MULTILINE)
    _, *parts = re.split(r"^_+ (test_\w+) _+$", failures, flags=re.MULTILINE)
    return {name: pytest.LineMatcher(text.splitlines()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Reports]:
    """Run ``FAILING`` with options, once for the same options."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in FAILING.items():
        (folder / f"{name}.py").write_text(dedent(text).lstrip(), "utf-8")

    @cache
    def run(*options: str) -> Reports:
        command = [sys.executable, "-m", "pytest", *options]
        reports = _reports(subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8").stdout)
        assert len(reports) == 8
        return reports

    return run


def test_a_failing_test_shows_its_log(shown: Callable[..., Reports]) -> None:
    report = shown("--dispatchviz-lines=0")["test_add"]
    report.fnmatch_lines(
        [
            "E*AssertionError: wrapper_CUDA_add_Tensor did not run under CPU",
            "*- dispatchviz log -*",
            "test_add.py::test_add on the model of PyTorch 2.14.1, cuda: *",
            "*line 5 in test_*  x = torch.ones(2, requires_grad=True)",
            "*line 6 in test_*  y = x + x",
            "*redispatch aten::add.Tensor → CPU",
        ]
    )
    report.no_fnmatch_line("*dispatchviz open*")


LATER = """
    import gc, weakref
    from dispatchviz import torch
    from dispatchviz.core.record.event_builder import EventBuilder

    read, reads, traces = EventBuilder.read, [], []

    def counted(builder, notes):
        reads.append(len(notes))
        read(builder, notes)

    EventBuilder.read = counted

    def test_passes(dispatch_trace):
        traces.append(weakref.ref(dispatch_trace))
        torch.ones(2)

    def test_its_events_were_not_made_and_its_trace_is_gone():
        gc.collect()
        assert (reads, traces[0]()) == ([], None)

    def test_reads(dispatch_trace):
        torch.ones(2)
        assert (len(dispatch_trace) > 0, len(reads)) == (True, 1)
"""


def test_events_of_a_test_that_does_not_read_them_are_not_made(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LATER)
    pytester.runpytest_subprocess().assert_outcomes(passed=3)


def test_error_in_the_model_shows_at_the_line_of_a_test_that_a_recorded_program_runs(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import torch\n\ndef test_error():\n    torch.ones(2) @ torch.ones(3)\n")
    command = [sys.executable, "-m", "dispatchviz", "trace", "-o", "/dev/null", "-m", "pytest", "test_it.py"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8").stdout
    report = _reports(output)["test_error"]
    report.fnmatch_lines([">*torch.ones(2) @ torch.ones(3)", "E*RuntimeError: *", "test_it.py:4: RuntimeError"])
    report.no_fnmatch_line("*dispatchviz*")


def _opened(report: pytest.LineMatcher) -> tuple[Trace, int]:
    """Return the trace and the step that the command in a report opens."""
    ((step, path),) = re.findall(r"^dispatchviz open --step (\d+) (.+)$", str(report), re.MULTILINE)
    return Trace.load(path), int(step)


def test_keep_saves_the_trace_and_says_how_to_open_it(shown: Callable[..., Reports]) -> None:
    trace, _ = _opened(shown("--dispatchviz-keep")["test_add"])
    assert not trace.notice
    assert trace.header.program == "test_add.py::test_add"


def test_the_command_opens_the_trace_where_it_differs(shown: Callable[..., Reports]) -> None:
    trace, step = _opened(shown("--dispatchviz-keep")["test_middle"])
    assert trace[step].operator == "aten::zeros"  # type: ignore[union-attr]


def test_texts_are_shown_around_their_difference(shown: Callable[..., Reports]) -> None:
    for name in ("test_left", "test_right"):
        report = shown("--dispatchviz-keep")[name]
        report.fnmatch_lines(
            [
                "E         *expected  Sum → Mul",
                "E         *got       Sum → Mul → (AccumulateGrad(x), AccumulateGrad(w))",
                "E   *^",
            ]
        )
        trace, step = _opened(report)
        assert trace[step].name == "MulBackward0"  # type: ignore[union-attr]


def _log_of(report: pytest.LineMatcher) -> list[str]:
    lines = report.lines
    begin = next(k for k, line in enumerate(lines) if "- dispatchviz log -" in line)
    end = next(k for k, line in enumerate(lines) if line.startswith("to open the trace: ") and k > begin)
    return lines[begin + 2 : end]


def test_a_report_shows_as_many_lines_around_the_difference_as_are_asked_for(shown: Callable[..., Reports]) -> None:
    log = _log_of(shown("--dispatchviz-lines=30")["test_middle"])
    assert len(log) == 32
    assert log[0].startswith("... ")
    assert log[0].endswith(" lines before; --dispatchviz-lines=0 shows all ...")
    assert log[-1].endswith(" lines after; --dispatchviz-lines=0 shows all ...")
    assert "call aten::zeros " in log[16]
    assert [line[0] for line in log].count(">") == 1
    assert log[16].startswith("> ")
    assert len(_log_of(shown("--dispatchviz-lines=4")["test_middle"])) == 6
    everything = _log_of(shown("--dispatchviz-lines=0")["test_middle"])
    left_out = sum(int(line.split()[1]) for line in (log[0], log[-1]))
    assert len(everything) == left_out + 30


def test_a_failure_without_a_step_shows_the_end(shown: Callable[..., Reports]) -> None:
    log = _log_of(shown("--dispatchviz-lines=30")["test_end"])
    assert len(log) == 31
    assert log[0].endswith(" lines before; --dispatchviz-lines=0 shows all ...")


def test_long_test_is_shown_from_its_end(shown: Callable[..., Reports]) -> None:
    report = shown()["test_lines"]
    report.fnmatch_lines(["    def test_lines(dispatch_trace):", "    ... 34 lines ...", "*torch.ones(35)", ">*"])
    report.no_fnmatch_line("*torch.ones(34)")
    shown("--tb=long")["test_lines"].fnmatch_lines(["        torch.ones(1)"])


def test_wrong_name_shows_no_log(shown: Callable[..., Reports]) -> None:
    report = shown()["test_wrong_name"]
    report.fnmatch_lines(["E       ValueError: *there is no operator 'zeros'; did you mean aten::zeros?"])
    report.no_fnmatch_line("*- dispatchviz log -*")


def test_empty_trace_says_what_to_import(shown: Callable[..., Reports]) -> None:
    report = shown()["test_empty"]
    report.fnmatch_lines(["E       nothing was recorded on the model (`from dispatchviz import torch`); *"])


CHECKS = {
    "assert_never(dispatch_trace, call('aten::zeros'))": "AssertionError: call('aten::zeros') happens once",
    "assert_count(dispatch_trace, call('aten::zeros'), 2)": "AssertionError: call('aten::zeros') happens once",
    "assert_sequence(dispatch_trace, [call('aten::zeros')])": "AssertionError: differs first at event 0",
    "assert_subsequence(dispatch_trace, [call('aten::add.Tensor')])": "AssertionError: pattern 0 of 1",
    "assert_at_most(dispatch_trace, call('aten::zeros'), 0)": "AssertionError: call('aten::zeros') happens once",
    "redispatches_to(dispatch_trace, 'aten::zeros', 'CUDA')": "AssertionError: the call at step",
    "no_copy_in_accumulate(dispatch_trace)": "AssertionError: no gradient is written to .grad",
    "assert graph(dispatch_trace) == 'Sum'": "AssertionError: assert graph(trace) differs first at the mark",
    "assert graph(dispatch_trace) == 'Summ'": "ValueError: there is no Node 'Summ'; did you mean Sum",
    "keys(dispatch_trace, 'aten::sum')": "AssertionError: call('aten::sum') never happens",
    "assert_golden(dispatch_trace, 'golden.log')": "AssertionError: there is no golden log",
    "assert_kernel_ran(dispatch_trace, 'VariableType::sum', 'CPU')": "AssertionError: VariableType::sum did not run",
    "assert_same(dispatch_trace, 'golden.jsonl')": "AssertionError: there is no file golden.jsonl",
    "assert_never(dispatch_trace, call(), within=call('aten::sum'))": "AssertionError: call('aten::sum') does not",
    "assert_never(dispatch_trace, call('aten::zeroes'))": "ValueError: call('aten::zeroes'): there is no operator",
    "event(NodeCreated, nodes=1)": "TypeError: NodeCreated has no field 'nodes'",
}


@pytest.mark.parametrize(("option", "ci"), [("--dispatchviz-keep", "1"), ("-ra", "")], ids=["CI", "terminal"])
def test_a_failure_is_short_and_names_the_tests_own_line(
    option: str, ci: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CI systems show the same, although pytest itself shortens nothing there."""
    monkeypatch.setenv("CI", ci)
    names = {check: f"test_{k}" for k, check in enumerate(CHECKS)}
    path = pytester.makepyfile(test_mine=LONG + "".join(_long(name, check) for check, name in names.items()))
    source = path.read_text("utf-8").splitlines()
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", option)
    result.assert_outcomes(failed=len(CHECKS))
    reports = _reports(str(result.stdout))
    for check, name in names.items():
        kind, _, says = CHECKS[check].partition(": ")
        line = source.index(f"    {check}") + 1
        reports[name].fnmatch_lines([f">       {check}", f"E   *{says}*", f"test_mine.py:{line}: {kind}"])
        assert len(str(reports[name]).strip().splitlines()) <= 32, check
    assert not re.search(r"dispatchviz/testing/\w+\.py", str(result.stdout))


KERNEL_FAILS = """
    from dispatchviz import torch

    def product(a, b):
        return a @ b

    def test_shapes(dispatch_trace):
        try:
            product(torch.ones(2, 3), torch.ones(2, 3))
        except RuntimeError as error:
            raise ValueError("mine") from error
"""


def test_frames_of_the_model_are_left_out_and_the_log_has_the_call(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(KERNEL_FAILS)
    shown = pytester.runpytest("-p", "no:cacheprovider").stdout.str()
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" in shown
    assert "return a @ b" in shown
    assert not re.search(r"dispatchviz/core/\S+:\d+", shown)
    assert not re.search(r"dispatchviz log -+\n(to open|=|-)", shown)
    whole = pytester.runpytest("-p", "no:cacheprovider", "--full-trace").stdout.str()
    assert re.search(r"dispatchviz/core/native/linalg/mm_bmm.py:\d+: RuntimeError", whole)


# -- tests that pass ---------------------------------------------------------------------------------------------------


def test_a_passing_test_shows_nothing_and_each_gets_a_trace_of_its_own(pytester: pytest.Pytester) -> None:
    numbering = """
    import pytest

    @pytest.mark.parametrize("n", [1, 2])
    def test_numbering_starts_anew(dispatch_trace, n):
        torch.ones(n)
        created = [event for event in dispatch_trace if type(event).__name__ == "TensorCreated"]
        assert [event.tensor for event in created] == [0]
    """
    pytester.makepyfile(ADDS + numbering)
    result = pytester.runpytest_subprocess("-rP")
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*dispatchviz log*")


def test_the_plugin_is_idle_in_other_projects(pytester: pytest.Pytester) -> None:
    """The plugin loads only three small modules, and nothing that they would need."""
    pytester.makepyfile(
        """
        import sys

        def test_nothing():
            ours = {name for name in sys.modules if name.startswith("dispatchviz")}
            assert ours == {"dispatchviz", "dispatchviz.testing", "dispatchviz.testing.plugin"}
            assert not {"numpy", "msgspec", "click"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


# -- golden logs and files -------------------------------------------------------------------------------------------

GOLDEN = """
    import pytest
    from dispatchviz import torch
    from dispatchviz.testing import *

    @pytest.mark.parametrize("n", [1, 2])
    def test_mine(dispatch_trace, n):
        torch.ones(2)
        assert_golden(dispatch_trace, f"logs/ones-{n}.log")
"""
OTHERS = """
    @pytest.mark.parametrize("n", [1])
    def test_changed(dispatch_trace, n):
        torch.ones(2)
        torch.zeros(n)
        assert_golden(dispatch_trace, "logs/ones-1.log")

    @pytest.mark.parametrize("n", [1])
    def test_new(dispatch_trace, n):
        torch.ones(2)
        assert_golden(dispatch_trace, "logs/new.log")
"""


@pytest.mark.parametrize(("accepting", "comparing"), [((), ()), (("-n2",), ("-n1",))], ids=["alone", "xdist"])
def test_golden_logs_are_accepted_with_one_command(
    accepting: tuple[str, ...], comparing: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_mine=GOLDEN)
    result = pytester.runpytest_subprocess("--dispatchviz-accept", *accepting)
    result.assert_outcomes(passed=2)
    found = [line for line in result.outlines if line.startswith("accepted ")]
    assert sorted(found) == [f"accepted {pytester.path / 'logs' / f'ones-{n}.log'}" for n in (1, 2)]
    pytester.makepyfile(test_mine=GOLDEN + OTHERS)
    result = pytester.runpytest_subprocess(*comparing)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "E         pytest --dispatchviz-accept 'test_mine.py::test_new[[]1]' writes it",
            "E       AssertionError: ones-1.log differs first after its end",
            "E         expected  nothing more",
            "E         got       call aten::zeros *",
            "E         pytest --dispatchviz-accept 'test_mine.py::test_changed[[]1]' accepts it",
        ]
    )


def test_tests_whose_names_are_alike_keep_a_trace_each(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine="""
        import pytest
        from dispatchviz import torch

        @pytest.mark.parametrize("name", ["a b", "a-b", "a/b", "x" * 300])
        def test_mine(dispatch_trace, name):
            torch.ones(2)
            assert not name
        """
    )
    result = pytester.runpytest_subprocess("--dispatchviz-keep", "-n2")
    paths = re.findall(r"^dispatchviz open (.+)$", str(result.stdout), re.MULTILINE)
    assert len(paths) == len(set(paths)) == 4
    assert {Trace.load(path).header.program[-5:] for path in paths} == {"[a b]", "[a-b]", "[a/b]", "ame3]"}
