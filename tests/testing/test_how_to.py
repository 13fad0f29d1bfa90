"""``docs/how-to/testing.md``: its programs run, and its logs and failures are the real ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dispatchviz
from dispatchviz import testing, torch
from dispatchviz.testing.expected_log import read_expected
from dispatchviz.testing.marking import marked

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "testing.md").read_text("utf-8")
OF_TEST = "from dispatchviz import torch\nfrom dispatchviz.testing import *\n\n"


def _blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.long
def test_documented_tests_pass_and_write_their_log(pytester: pytest.Pytester) -> None:
    code = "\n".join(_blocks("python"))
    pytester.makepyfile(test_page=code)
    pytester.runpytest_subprocess("--dispatchviz-accept").assert_outcomes(passed=code.count("def test_"))
    (log,) = [block for block in _blocks("text") if block.startswith("# written by")]
    assert (pytester.path / "golden" / "product.log").read_text("utf-8") == log


@pytest.mark.long
def test_documented_failure_is_real(pytester: pytest.Pytester) -> None:
    (failure,) = [block.splitlines() for block in _blocks("text") if block.startswith(">")]
    body = f"def test_mine(dispatch_trace):\n    product()\n    {failure[0][1:].strip()}\n"
    pytester.makepyfile(test_page=OF_TEST + _product() + body)
    shown = pytester.runpytest_subprocess().outlines
    assert [re.sub(r"\d+", "N", line) for line in failure] == [
        re.sub(r"\d+", "N", line) for line in shown if line.startswith((">", "E"))
    ][: len(failure)]


def test_documented_expectations_hold() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        torch.mul(x, w).sum().backward()
    (expected,) = [block for block in _blocks("text") if block.startswith("# Homework")]
    marks = marked(trace, read_expected(expected, "page"), "page")
    assert [mark.why for mark in marks if not mark.holds] == []
    assert len(marks) == 12


def test_documented_tests_of_the_library_are_its_own() -> None:
    (shown,) = [block for block in _blocks("text") if block.startswith("def test_call_goes")]
    tests = (Path(__file__).parents[2] / "examples" / "library" / "test_blend.py").read_text("utf-8")
    for test in shown.split("\n\n\n"):
        assert test.strip() in tests


def test_page_names_every_function() -> None:
    for name in testing.__all__:
        assert re.search(rf"\b{name}\b", PAGE), name


def _product() -> str:
    """Return the page's function of that name."""
    (block,) = [block for block in _blocks("python") if block.startswith("def product")]
    return block.partition("\n\n\n")[0] + "\n\n\n"
