"""The walkthrough's example, ``torch.vmap(torch.sin)`` and ``add`` over a batch, in sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label, why_here


def recorded(function: Callable[..., Any]) -> Trace:
    x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    with dispatchviz.record() as trace:
        torch.vmap(function)(x)
    return trace


def sentences(trace: Trace, kind: type[ev.Event]) -> list[str]:
    return [why_here(trace, event.seq) for event in trace if isinstance(event, kind)]


@pytest.mark.parametrize("function", [torch.sin, lambda a: torch.add(a, a)], ids=["sin", "add"])
def test_every_step_is_a_sentence(function: Callable[..., Any]) -> None:
    trace = recorded(function)
    for event in trace:
        if not isinstance(event, ev.SourceLine):
            assert why_here(trace, event.seq).endswith("."), event
            assert label(trace, event.seq)


def test_calls_say_which_way_they_go() -> None:
    said = [text.split(". The highest key")[0] for text in sentences(recorded(torch.sin), ev.Dispatched)]
    assert said[0] == "torch.sin(t0) calls the operator aten::sin"
    assert said[1] == "The transform on top calls aten::sin again, without the keys that it excludes for that"
    assert said[2] == ("sin (BatchRulesUnaryOps.cpp) calls aten::sin on what the batched tensors wrap: a full dispatch")
    assert said[3] == "aten::sin is called again, as if that transform were not there"


def test_guards_give_their_reasons() -> None:
    guards = sentences(recorded(torch.sin), ev.GuardEntered)
    assert guards[0].endswith(
        "from FuncTorchDynamicLayerFrontMode down to FuncTorchDynamicLayerBackMode only FuncTorchVmapMode, "
        "BatchedNestedTensor, FuncTorchBatched and FuncTorchDynamicLayerBackMode remain."
    )
    assert guards[1].endswith("the tensors are unwrapped, and this vmap has already been handled.")
    assert guards[2].endswith("the call leaves the transform with the sets that it entered with.")


def test_results_on_a_stack_are_not_called_arguments() -> None:
    trace = recorded(torch.sin)
    words = [why_here(trace, e.seq) for e in trace if isinstance(e, (ev.Boxed, ev.Unboxed))]
    assert words[0].startswith("The arguments of aten::sin")
    assert words[4].startswith("What the kernel of aten::sin returned")


def test_the_source_shown_is_the_batch_rule() -> None:
    trace = recorded(lambda a: a.view(3, 1))
    kernel = next(e for e in trace if isinstance(e, ev.KernelEntered) and "BatchRules" in e.kernel)
    assert kernel.file == "core/layers/functorch/batch_rules/batch_rules_views.py"
