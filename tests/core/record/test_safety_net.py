"""A program that goes too deep is recorded to its end: where the stack has no room, the recorder gets some."""

from __future__ import annotations

import sys

import pytest

from dispatchviz.core.record import events as ev
from tests.explain.programs import traced

ENDLESS = """
    import sys
    import torch

    sys.setrecursionlimit({})
    lib = torch.library.Library("my", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: torch.ops.my.f(x), "Autograd")
    torch.ops.my.f(torch.ones(2))
"""


@pytest.mark.parametrize("limit", range(900, 910))  # some 7 frames a turn: each of them is once the last
def test_a_recursion_error_is_the_programs(limit: int, capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.getrecursionlimit()
    trace = traced(ENDLESS.format(limit))
    last = trace[-1]
    assert isinstance(last, ev.ProgramRaised)
    assert last.exception == "RecursionError"
    assert last.line == 8
    assert trace.header.remarks == ()
    assert len(trace.steps_of(ev.Dispatched)) > 50
    assert "ignored" not in capfd.readouterr().err
    assert sys.getrecursionlimit() == before
