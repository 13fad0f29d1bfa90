"""The pytest plugin, as a user's project meets it."""

from __future__ import annotations

import re

import numpy as np  # noqa: F401 # which can be loaded once, and pytester forgets what is imported while it runs
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
    (path,) = re.findall(r"^dispatchviz open --step \d+ (.+)$", str(result.stdout), re.MULTILINE)
    trace = Trace.load(path)
    assert not trace.notice
    assert trace.header.program == "test_mine.py::test_add"


def test_the_plugin_is_idle_in_other_projects(pytester: pytest.Pytester) -> None:
    """What costs nothing is not there: three small modules, and nothing that they would need."""
    pytester.makepyfile(
        """
        import sys

        def test_nothing():
            ours = {name for name in sys.modules if name.startswith("dispatchviz")}
            assert ours == {"dispatchviz", "dispatchviz.testing", "dispatchviz.testing.plugin"}
            assert not {"numpy", "msgspec", "click"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-W", "error", "-p", "no:hypothesispytest").assert_outcomes(passed=1)


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
    "assert_at_most(dispatch_trace, call('aten::zeros'), 0)": "AssertionError: call('aten::zeros') happens once",
    "redispatches_to(dispatch_trace, 'aten::zeros', 'CUDA')": "AssertionError: the call at step",
    "no_copy_in_accumulate(dispatch_trace)": "AssertionError: no .grad is written",
    "assert graph(dispatch_trace) == 'Sum'": "AssertionError: assert graph(trace) differs first at the mark",
    "assert graph(dispatch_trace) == 'Summ'": "ValueError: there is no Node 'Summ'; did you mean Sum",
    "keys(dispatch_trace, 'aten::sum')": "AssertionError: call('aten::sum') never happens",
    "assert_golden(dispatch_trace, 'golden.log')": "AssertionError: there is no golden log",
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
    kind, _, says = CHECKS[check].partition(": ")
    result.stdout.fnmatch_lines([f">       {check}", f"E   *{says}*", f"test_mine.py:11: {kind}"])
    _, report, _ = re.split(
        r"^_+ test_mine _+$|^=+ short test summary info =+$", str(result.stdout), flags=re.MULTILINE
    )
    assert len(report.strip().splitlines()) <= 30
    assert not re.search(r"dispatchviz/testing/\w+\.py", str(result.stdout))


def _log_of(result: pytest.RunResult) -> list[str]:
    lines = result.outlines
    begin = next(k for k, line in enumerate(lines) if "- dispatchviz log -" in line)
    after = ("FAILED", "=====", "to open it here: ")
    end = next(k for k, line in enumerate(lines) if line.startswith(after) and k > begin)
    return lines[begin + 2 : end]


def test_a_report_shows_as_many_lines_around_the_difference_as_are_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=LONG.replace("CHECK", "assert_never(dispatch_trace, call('aten::zeros'))"))
    log = _log_of(pytester.runpytest_subprocess("--dispatchviz-lines=30"))
    assert len(log) == 32
    assert log[0].startswith("... ")
    assert log[0].endswith(" lines before; --dispatchviz-lines=0 shows all ...")
    assert log[-1].endswith(" lines after; --dispatchviz-lines=0 shows all ...")
    assert "call aten::zeros " in log[16]
    assert [line[0] for line in log].count(">") == 1
    assert log[16].startswith("> ")
    assert len(_log_of(pytester.runpytest_subprocess("--dispatchviz-lines=4"))) == 6
    everything = _log_of(pytester.runpytest_subprocess("--dispatchviz-lines=0"))
    left_out = sum(int(line.split()[1]) for line in (log[0], log[-1]))
    assert len(everything) == left_out + 30


def test_a_failure_without_a_step_shows_the_end(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=LONG.replace("CHECK", "assert dispatch_trace is None"))
    log = _log_of(pytester.runpytest_subprocess("--dispatchviz-lines=30"))
    assert len(log) == 31
    assert log[0].endswith(" lines before; --dispatchviz-lines=0 shows all ...")


def test_the_command_opens_the_trace_where_it_differs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=LONG.replace("CHECK", "assert_never(dispatch_trace, call('aten::zeros'))"))
    result = pytester.runpytest_subprocess("--dispatchviz-keep")
    ((step, path),) = re.findall(r"^dispatchviz open --step (\d+) (.+)$", str(result.stdout), re.MULTILINE)
    assert Trace.load(path)[int(step)].operator == "aten::zeros"  # type: ignore[union-attr]


MANY = """
    from dispatchviz import torch
    from dispatchviz.testing import *

    def product():
        x = torch.ones(2, requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        torch.ops.aten.mul.Tensor(x, w).sum().backward()
"""
FAILURES = (
    "assert_sequence(dispatch_trace, [call('aten::mul.Tensor', 'AutogradCUDA'), redispatch(key='CUDA')])",
    "assert_subsequence(dispatch_trace, [call('aten::mul.Tensor'), redispatch('aten::mul.Tensor', 'CUDA')])",
    "assert_never(dispatch_trace, call())",
    "assert_count(dispatch_trace, call('aten::sum'), 3)",
    "assert_kernel_ran(dispatch_trace, 'wrapper_CUDA_mul_Tensor', under='CPU')",
    "assert graph(dispatch_trace) == 'Sum → Mul → AccumulateGrad(x)'",
    "assert_never(dispatch_trace, call('aten::mull.Tensor'))",
    "redispatches_to(dispatch_trace, torch.ops.aten.mul.Tensor, 'CUDA')",
)


def test_eight_failures_are_read_in_one_go(pytester: pytest.Pytester) -> None:
    tests = [
        f"\n    def test_{k}(dispatch_trace):\n        product()\n        {each}\n" for k, each in enumerate(FAILURES)
    ]
    path = pytester.makepyfile(test_mine=MANY + "".join(tests))
    for option in ("--dispatchviz-keep", "-ra"):
        result = pytester.runpytest_subprocess(option)
        result.assert_outcomes(failed=8)
        assert len(result.outlines) < 250
        source = path.read_text("utf-8").splitlines()
        for each in FAILURES:
            result.stdout.fnmatch_lines([f"test_mine.py:{source.index(f'    {each}') + 1}: *Error"])


def test_of_a_long_test_the_end_is_shown(pytester: pytest.Pytester) -> None:
    lines = "".join(f"        torch.ones({k + 1})\n" for k in range(40))
    pytester.makepyfile(
        test_mine=f"{MANY}\n    def test_mine(dispatch_trace):\n{lines}        assert_never(dispatch_trace, call())\n"
    )
    result = pytester.runpytest_subprocess()
    result.stdout.fnmatch_lines(["    def test_mine(dispatch_trace):", "    ... 34 lines ...", "*torch.ones(35)", ">*"])
    result.stdout.no_fnmatch_line("*torch.ones(34)")
    pytester.runpytest_subprocess("--tb=long").stdout.fnmatch_lines(["        torch.ones(1)"])


def test_a_name_that_is_wrong_needs_no_log(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=LONG.replace("CHECK", "assert_never(dispatch_trace, call('zeros'))"))
    result = pytester.runpytest_subprocess()
    result.stdout.fnmatch_lines(["E       ValueError: *there is no operator 'zeros'; did you mean aten::zeros?"])
    result.stdout.no_fnmatch_line("*- dispatchviz log -*")


def test_texts_are_shown_around_their_difference(pytester: pytest.Pytester) -> None:
    test = "\n    def test_mine(dispatch_trace):\n        product()\n        CHECK\n"
    for check in ("graph(dispatch_trace) == 'Sum -> Mul'", "'Sum -> Mul' == graph(dispatch_trace)"):
        pytester.makepyfile(test_mine=MANY + test.replace("CHECK", f"assert {check}"))
        result = pytester.runpytest_subprocess("--dispatchviz-keep")
        result.stdout.fnmatch_lines(
            [
                "E         *expected  Sum → Mul",
                "E         *got       Sum → Mul → (AccumulateGrad(x), AccumulateGrad(w))",
                "E   *^",
            ]
        )
        ((step, path),) = re.findall(r"^dispatchviz open --step (\d+) (.+)$", str(result.stdout), re.MULTILINE)
        assert Trace.load(path)[int(step)].name == "MulBackward0"  # type: ignore[union-attr]


def test_a_trace_with_nothing_in_it_says_what_to_import(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine=PASSES.replace("x + x", "x").replace("x = torch.ones(2, requires_grad=True)", "x = None")
    )
    result = pytester.runpytest_subprocess()
    result.stdout.fnmatch_lines(["E       nothing was recorded: `from dispatchviz import torch` is the model, *"])


GOLDEN = """
    import pytest
    from dispatchviz import torch
    from dispatchviz.testing import *

    @pytest.mark.parametrize("n", [1, 2])
    def test_mine(dispatch_trace, n):
        torch.ones(2)
        CHANGE
        assert_golden(dispatch_trace, f"logs/ones-{n}.log")
"""


@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["alone", "xdist"])
def test_golden_logs_are_accepted_with_one_command(options: tuple[str, ...], pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=GOLDEN.replace("CHANGE", "pass"))
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E         pytest --dispatchviz-accept 'test_mine.py::test_mine[[]1]' writes it"])
    result = pytester.runpytest_subprocess("--dispatchviz-accept", *options)
    result.assert_outcomes(passed=2)
    found = [line for line in result.outlines if line.startswith("accepted ")]
    assert sorted(found) == [f"accepted {pytester.path / 'logs' / f'ones-{n}.log'}" for n in (1, 2)]
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=2)
    pytester.makepyfile(test_mine=GOLDEN.replace("CHANGE", "torch.zeros(n)"))
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E       AssertionError: ones-1.log differs first after its end",
            "E         expected  nothing more",
            "E         got       call aten::zeros *",
            "E         pytest --dispatchviz-accept 'test_mine.py::test_mine[[]1]' accepts it",
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
