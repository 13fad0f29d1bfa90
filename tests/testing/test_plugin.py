"""The pytest plugin, as a user's project meets it."""

from __future__ import annotations

import re

import pytest

from dispatchviz.trace import Trace

pytestmark = pytest.mark.long

PASSES = """
    import dispatchviz.torch as torch
    from dispatchviz.testing import assert_kernel_ran, assert_sequence, call, redispatch

    def test_add(dispatch_trace):
        x = torch.ones(2, requires_grad=True)
        y = x + x
        assert_kernel_ran(dispatch_trace, "wrapper_CPU_add_Tensor", under="CPU")
        assert y.requires_grad
"""
FAILS = PASSES.replace("wrapper_CPU_add_Tensor", "wrapper_CUDA_add_Tensor")


def test_a_passing_test_shows_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PASSES)
    result = pytester.runpytest_subprocess("-rP")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*dispatchviz log*")


def test_a_failing_test_shows_its_log(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=FAILS)
    result = pytester.runpytest_subprocess("--dispatchviz-lines=0")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: wrapper_CUDA_add_Tensor did not run under CPU",
            "*- dispatchviz log -*",
            "test_mine.py::test_add on the model of PyTorch 2.13.0, cuda: *",
            "*line 5 in test_*  x = torch.ones(2, requires_grad=True)",
            "*line 6 in test_*  y = x + x",
            "*redispatch aten::add.Tensor → CPU",
        ]
    )
    result.stdout.no_fnmatch_line("*dispatchviz open*")


def test_keep_saves_the_trace_and_says_how_to_open_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=FAILS)
    result = pytester.runpytest_subprocess("--dispatchviz-keep")
    (path,) = re.findall(r"^dispatchviz open (.+)$", str(result.stdout), re.MULTILINE)
    trace = Trace.load(path)
    assert not trace.notice
    assert trace.header.program == "test_mine.py::test_add"


def test_the_plugin_is_idle_in_other_projects(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing():\n    import sys\n    assert 'dispatchviz.core' not in sys.modules\n")
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


def test_a_test_gets_a_trace_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        import dispatchviz.torch as torch

        @pytest.mark.parametrize("n", [1, 2])
        def test_numbering_starts_anew(dispatch_trace, n):
            torch.ones(n)
            created = [event for event in dispatch_trace if type(event).__name__ == "TensorCreated"]
            assert [event.tensor for event in created] == [0]
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


LONG = """
    import dispatchviz.torch as torch
    from dispatchviz.core.record.events import NodeCreated
    from dispatchviz.testing import *

    def test_mine(dispatch_trace):
        for _ in range(20):
            torch.ones(2)
        torch.zeros(3)
        for _ in range(20):
            torch.ones(2)
        CHECK
"""
CHECKS = {
    "assert_never(dispatch_trace, call('aten::zeros'))": "AssertionError: call('aten::zeros') happens once",
    "assert_count(dispatch_trace, call('aten::zeros'), 2)": "AssertionError: call('aten::zeros') happens once",
    "assert_sequence(dispatch_trace, [call('aten::zeros')])": "AssertionError: differs first at event 0",
    "assert_subsequence(dispatch_trace, [call('aten::add.Tensor')])": "AssertionError: pattern 0 of 1",
    "assert_kernel_ran(dispatch_trace, 'VariableType::sum', 'CPU')": "AssertionError: VariableType::sum did not run",
    "assert_same(dispatch_trace, 'golden.jsonl')": "AssertionError: there is no golden.jsonl",
    "assert_never(dispatch_trace, call(), within=call('aten::sum'))": "AssertionError: call('aten::sum') does not",
    "assert_never(dispatch_trace, call('aten::zeroes'))": "ValueError: call('aten::zeroes'): there is no operator",
    "event(NodeCreated, nodes=1)": "TypeError: NodeCreated has no field 'nodes'",
}


@pytest.mark.parametrize("check", CHECKS)
def test_a_failure_names_the_tests_own_line(check: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=LONG.replace("CHECK", check))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    error = CHECKS[check]
    result.stdout.fnmatch_lines(
        [f">       {check}", f"E       {error}*", f"test_mine.py:11: {error.partition(':')[0]}"]
    )
    assert "expectations.py" not in str(result.stdout)
    assert "names.py" not in str(result.stdout)


def _log_of(result: pytest.RunResult) -> list[str]:
    lines = result.outlines
    begin = next(k for k, line in enumerate(lines) if "- dispatchviz log -" in line)
    end = next(k for k, line in enumerate(lines) if line.startswith(("FAILED", "=====")) and k > begin)
    return lines[begin + 2 : end]


def test_a_report_shows_thirty_lines_around_the_difference(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=LONG.replace("CHECK", "assert_never(dispatch_trace, call('aten::zeros'))"))
    log = _log_of(pytester.runpytest_subprocess())
    assert len(log) == 32
    assert log[0].startswith("... ")
    assert log[0].endswith(" lines before; --dispatchviz-lines=0 shows all ...")
    assert log[-1].endswith(" lines after; --dispatchviz-lines=0 shows all ...")
    assert "call aten::zeros " in log[16]
    assert len(_log_of(pytester.runpytest_subprocess("--dispatchviz-lines=4"))) == 6
    everything = _log_of(pytester.runpytest_subprocess("--dispatchviz-lines=0"))
    left_out = sum(int(line.split()[1]) for line in (log[0], log[-1]))
    assert len(everything) == left_out + 30


def test_a_failure_without_a_step_shows_the_end(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=LONG.replace("CHECK", "assert dispatch_trace is None"))
    log = _log_of(pytester.runpytest_subprocess())
    assert len(log) == 31
    assert log[0].endswith(" lines before; --dispatchviz-lines=0 shows all ...")


def test_the_command_opens_the_trace_where_it_differs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=LONG.replace("CHECK", "assert_never(dispatch_trace, call('aten::zeros'))"))
    result = pytester.runpytest_subprocess("--dispatchviz-keep")
    ((step, path),) = re.findall(r"^dispatchviz open --step (\d+) (.+)$", str(result.stdout), re.MULTILINE)
    assert Trace.load(path)[int(step)].operator == "aten::zeros"  # type: ignore[union-attr]
