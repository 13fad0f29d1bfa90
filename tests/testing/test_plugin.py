"""The pytest plugin, as a user's project meets it."""

from __future__ import annotations

import re

import pytest

from dispatchviz.trace import Trace

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
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: wrapper_CUDA_add_Tensor did not run under CPU",
            "*- dispatchviz log -*",
            "test_mine.py::test_add on the model of PyTorch 2.13.0, cuda: *",
            "*line 5  x = torch.ones(2, requires_grad=True)",
            "*line 6  y = x + x",
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
