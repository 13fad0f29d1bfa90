"""A second recording is refused before anything is changed, and the model may be used beside an installed PyTorch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import dispatchviz
from dispatchviz.core.record.events import Dispatched
from dispatchviz.running.recording import EngineName

pytestmark = pytest.mark.torch


def _changed(torch: Any) -> list[object]:
    """What a recording of an installed PyTorch replaces."""
    tensor, functions = torch.Tensor, torch.autograd
    return [functions._engine_run_backward, tensor.retain_grad, tensor.__new__, torch.library.Library.impl]


def _nested(engine: EngineName) -> str:
    with pytest.raises(RuntimeError) as refused, dispatchviz.record(engine=engine):
        pass
    return str(refused.value)


@pytest.mark.parametrize("inner", ["model", "torch"])
@pytest.mark.parametrize("outer", ["model", "torch"])
def test_a_nested_recording_changes_nothing(outer: EngineName, inner: EngineName) -> None:
    import torch

    before = _changed(torch)
    with dispatchviz.record(engine=outer) as trace:
        within = _changed(torch)
        with ThreadPoolExecutor(1) as pool:
            said = {_nested(inner), pool.submit(_nested, inner).result()}
        assert _changed(torch) == within
        if outer == "torch":
            (torch.ones(2, requires_grad=True) * 2).sum().backward()
    assert said == {"a recording is already running: stop it first (recordings do not nest)"}
    assert _changed(torch) == before
    assert trace.notice == ""
    called = {event.operator for event in trace if isinstance(event, Dispatched)}
    assert ("aten::mul.Tensor" in called) == (outer == "torch")


def test_the_model_is_used_within_a_recording_of_an_installed_pytorch() -> None:
    import torch

    with dispatchviz.record(engine="torch") as trace:
        x = torch.ones(2, requires_grad=True)
        import dispatchviz.torch as model
        from dispatchviz import testing

        ours = model.ones(3, requires_grad=True)
        (ours.exp() * 2).sum().backward()
        (x * 2).sum().backward()
        text = repr(ours.grad)
    assert testing is not None
    assert text.startswith("tensor(")
    assert trace.notice == ""
    called = {event.operator for event in trace if isinstance(event, Dispatched)}
    assert "aten::mul.Tensor" in called
    assert "aten::exp" not in called
