"""Question 8 of those asked in public: a custom operator with only a CPU kernel loses its gradient without a word."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.running.program import run

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.filterwarnings("ignore:demo..double. an autograd kernel was not registered")
def test_the_trace_shows_where_the_gradient_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    output = io.StringIO()
    outcome = run(os.path.join("examples", "custom_operator.py"), (), output)
    assert outcome.status == 0
    assert output.getvalue() == "True\ntensor([1., 1., 1.])\n"
    trace = outcome.trace
    entered = next(e for e in trace if isinstance(e, ev.KernelEntered) and e.kernel == "autograd_fallback")
    said = why_here(trace, entered.seq)
    assert "a result that is returned without a history gets a Node that only warns" in said
    assert "there the gradient of demo::double is lost" in said
    node = next(e for e in trace if isinstance(e, ev.NodeCreated) and e.name.endswith("WarnNotImplemented"))
    assert "demo::double has no autograd kernel: its derivative is not known" in why_here(trace, node.seq)


@pytest.mark.filterwarnings("ignore:demo..double. an autograd kernel was not registered")
def test_without_gradients_the_fallback_only_passes_the_call_on() -> None:
    from tests.explain.programs import traced

    trace = traced(
        """
        import torch
        lib = torch.library.Library("demo", "FRAGMENT")
        lib.define("half(Tensor x) -> Tensor")
        lib.impl("half", lambda x: x / 2, "CPU")
        torch.ops.demo.half(torch.ones(3))
        torch._C._set_autograd_fallback_mode("nothing")
        torch.ops.demo.half(torch.ones(3, requires_grad=True))
        torch._C._set_autograd_fallback_mode("warn")
        """
    )
    fallbacks = [e for e in trace if isinstance(e, ev.KernelEntered) and e.kernel == "autograd_fallback"]
    assert len(fallbacks) == 2
    for entered in fallbacks:
        assert "this fallback only redispatches and records no derivative." in why_here(trace, entered.seq)
