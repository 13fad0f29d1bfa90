"""The functions of ``dispatchviz.testing`` also work on a recording of an installed PyTorch, as the page says."""

from __future__ import annotations

import pytest

import dispatchviz
from dispatchviz.testing import assert_count, assert_never, call, graph, keys, node_order

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
