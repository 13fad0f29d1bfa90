"""If Tracer is included by hand, every operator of the model passes its TraceType kernel and returns the same
result.
"""

from __future__ import annotations

from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record.events import Dispatched
from dispatchviz.core.table.registry import process

CASES = {
    "x.mul_(y)": "Tracer AutogradCPU ADInplaceOrView CPU",
    "x.view(4)": "Tracer AutogradCPU ADInplaceOrView CPU",
    "torch.add(x, y, out=torch.empty(2, 2))": "Tracer AutogradCPU ADInplaceOrView CPU",
    "torch.ops.aten.randn([2])": "Tracer BackendSelect CPU",
    "x.detach()": "Tracer AutogradCPU ADInplaceOrView CPU",
    "x.unbind(0)": "Tracer AutogradCPU ADInplaceOrView CPU",
}
"""The keys of the named operator. They were compared with PyTorch when they were written."""


def tracing() -> Any:
    return torch._C._IncludeDispatchKeyGuard(torch._C._dispatch_key_parse("Tracer"))


@pytest.mark.parametrize("text", CASES)
def test_call_passes_the_tracer_key(text: str) -> None:
    names = {"torch": torch, "x": torch.ones(2, 2), "y": torch.ones(2, 2)}
    with dispatchviz.record() as trace, tracing():
        eval(text, names)
    calls = [e for e in trace if isinstance(e, Dispatched)]
    last = [e for e in calls if not any(isinstance(outer, Dispatched) for outer in trace.ancestors(e.seq))][-1]
    same = [e for e in calls if e.seq >= last.seq and e.operator == last.operator]
    assert " ".join(e.key for e in same) == CASES[text]


def test_tracer_does_not_change_the_result() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with tracing():
        (torch.matmul(x, x).exp() * 2).sum().backward()
    expected = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (torch.matmul(expected, expected).exp() * 2).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_fallthroughs_stay_fallthroughs() -> None:
    """The ten fallthroughs are PyTorch's."""
    names = (
        *("_backward", "_fw_primal", "_make_dual", "_version", "data", "is_leaf", "output_nr", "requires_grad_"),
        *("retain_grad", "set_data"),
    )
    for name in names:
        kernel = process.find(f"aten::{name}").compute(DispatchKey.Tracer).kernel
        assert kernel is not None
        assert kernel.fallthrough
