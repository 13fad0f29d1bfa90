"""Question 8 of those asked in public: a custom operator with only a CPU kernel loses its gradient without a word."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from dispatchviz.core import events as ev
from dispatchviz.explain.sentences import why_here
from dispatchviz.explain.why import dispatch
from dispatchviz.program import run

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
    assert "the gradient of demo::double is lost here" in dispatch.why(trace, entered)
    node = next(e for e in trace if isinstance(e, ev.NodeCreated) and e.name.endswith("WarnNotImplemented"))
    assert "demo::double has no autograd kernel: nobody knows its derivative" in why_here(trace, node.seq)
