"""The functions of ``dispatchviz.testing`` also work on a recording of an installed PyTorch, as the page says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.record.events import VersionBumped
from dispatchviz.running.recording import EngineName
from dispatchviz.testing import (
    assert_count,
    assert_golden,
    assert_never,
    assert_same,
    call,
    event,
    graph,
    hook_order,
    hook_ran,
    keys,
    no_copy_in_accumulate,
    node_order,
    saved,
    saved_bytes,
)
from dispatchviz.testing.golden_log import Accepting
from dispatchviz.testing.patterns import Pattern
from dispatchviz.trace import Trace

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


def test_assertions_work_on_a_recording_of_pytorch() -> None:
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2)
    with dispatchviz.record(engine="torch") as trace:
        torch.ops.aten.add.Tensor(x, y).sum().backward()
        print(y)
    assert trace.header.engine != "model"
    assert keys(trace, torch.ops.aten.add.Tensor) == "AutogradCPU → CPU"
    assert graph(trace) == "Sum → Add → AccumulateGrad(x)"
    assert node_order(trace) == "Sum, Add, AccumulateGrad(x)"
    assert_count(trace, call("aten::sum"), 1)
    assert_never(trace, call("aten::ne.Scalar"))


def test_texts_are_those_of_the_model() -> None:
    def halve(gradient: Any) -> Any:
        return gradient / 2

    def program() -> None:
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        y.register_hook(halve)
        (y + y).sum().backward()

    with dispatchviz.record(engine="torch") as trace:
        program()
    assert graph(trace) == "Sum → Add → (Exp#1 → AccumulateGrad(x), Exp#1)"
    assert hook_order(trace) == "halve"
    assert saved(trace) == "Exp(result=y)"
    assert saved_bytes(trace) == 8
    assert no_copy_in_accumulate(trace, "x")
    assert_same(trace, trace)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (event(VersionBumped), "a version is read when a Node saves a tensor, not when it is bumped"),
        (hook_ran(kind="retains-grad hook"), "when a retains-grad hook runs"),
    ],
)
def test_pattern_that_a_release_build_does_not_show_is_refused(pattern: Pattern, why: str) -> None:
    with dispatchviz.record(engine="torch") as trace:
        torch.ones(2)
    with pytest.raises(ValueError, match=rf"because a release build does not show it: {why}; the model does"):
        assert_never(trace, pattern)


def test_golden_log_of_the_other_engine_is_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def multiply(engine: EngineName, torch: Any) -> Trace:
        with dispatchviz.record(engine=engine) as trace:
            (torch.ones(2, requires_grad=True) * 2).sum().backward()
        return trace

    ours, real = multiply("model", model), multiply("torch", torch)
    monkeypatch.setattr(Accepting, "on", True)
    assert_golden(ours, tmp_path / "mul.log", level="calls")
    assert_golden(ours, tmp_path / "keys.log", level="keys")
    monkeypatch.setattr(Accepting, "on", False)
    assert_golden(real, tmp_path / "mul.log", level="calls")
    with pytest.raises(
        AssertionError, match="the file is from the model, the test from PyTorch; level='calls' is equal"
    ):
        assert_golden(real, tmp_path / "keys.log", level="keys")
