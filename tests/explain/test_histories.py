"""What is said of histories, of views and of writes that backward will not forgive: PyTorch's own words beside ours.

Over all programs the same sentences are put to PyTorch in ``tests/claims``.
"""

from __future__ import annotations

import msgspec

import dispatchviz.torch as model
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label, statements, why_here
from tests.explain.programs import traced

LEAF = "import torch\na = torch.ones(4, requires_grad=True)\n"


def said(trace: Trace, kind: type[ev.Event]) -> list[str]:
    """Every sentence about a kind of step."""
    return [why_here(trace, event.seq) for event in trace if isinstance(event, kind)]


def kinds(trace: Trace) -> set[str]:
    return {statement.kind for event in trace for statement in statements(trace, event.seq)}


def test_whole_numbers_have_no_history_to_spoil() -> None:
    trace = traced("import torch\nb = torch.arange(4)\nwith torch.no_grad():\n    v = b[1:3]\n")
    assert said(trace, ev.ViewMade) == ["v (t1) is a view: it shares the memory of b and has it as its base."]


HOOKS = "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):\n"


def test_hooks_that_come_later_take_the_version_away() -> None:
    late = "c.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), lambda t: t)\n"
    trace = traced(f"{LEAF}b = a * 1\nc = b * b\n{late}b.add_(1)\n")
    (bumped,) = said(trace, ev.VersionBumped)
    assert "saved version 0 as other: its backward will raise an error." in bumped
    assert "saved version 0 as self, packed by a hook" in bumped


def test_a_view_as_another_dtype_is_none_for_autograd() -> None:
    trace = traced(LEAF + "b = (a * 1).view(torch.float32)\n")
    assert said(trace, ev.ViewMade) == []
    b = (model.ones(2, requires_grad=True) * 1).view(model.float32)
    assert not b._is_view()
    assert not b.requires_grad
    b.mul_(2)
    assert b._version == 1


def test_inference_mode_that_is_off_is_told_as_such() -> None:
    off = "with torch.inference_mode():\n    with torch.inference_mode(False):\n        b = a * 2\n"
    trace = traced(LEAF + off)
    guards = [text for text in said(trace, ev.GuardEntered) if "InferenceMode" in text]
    assert [text.rpartition(": ")[2] for text in guards] == ["inference mode is on.", "inference mode is off."]
    assert said(trace, ev.GradModeChanged) == [
        "Inference mode switches grad mode off as well.",
        "inference_mode(False) switches grad mode on: operators record Nodes again.",
        "Leaving inference mode puts grad mode back off, for inference mode is still on.",
        "Leaving inference mode puts grad mode back on: operators record Nodes again.",
    ]


def test_a_wrapper_names_its_transform() -> None:
    trace = traced("import torch\ntorch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))\n")
    assert all(
        "for the jvp of level 1: its tangent belongs to that level" in t for t in said(trace, ev.TensorWrapperMade)
    )


def test_rows_say_what_the_sentences_say() -> None:
    trace = traced(f"{LEAF}b = a.exp()\ns = b[1:3]\ns.mul_(2)\nc = a * 2\n{HOOKS}    d = c * c\nc.detach_()\n")
    rows = {label(trace, event.seq) for event in trace}
    assert {
        "b.grad_fn = CopySlices (rebased)",
        "s.grad_fn = AsStridedBackward0 (regenerated)",
        "saves other = c (packed)",
        "c is detached in place",
    } <= rows


def test_a_trace_without_counters_foretells_nothing() -> None:
    trace = traced(f"{LEAF}b = a.exp()\nb.add_(1)\nc = a * 1\nd = c * c\n")
    plain: list[ev.AnyEvent] = [
        msgspec.structs.replace(e, counter=-1) if isinstance(e, ev.VersionBumped | ev.VariableSaved) else e
        for e in trace.events
    ]
    assert "will raise" in said(trace, ev.VersionBumped)[-1]
    assert "will raise" not in said(Trace(trace.header, plain), ev.VersionBumped)[-1]


def test_a_node_without_a_derivative_tells_its_edges_once() -> None:
    trace = traced(f"{LEAF}b = a.scatter(0, torch.tensor([0]), torch.ones(1), reduce='add')\n")
    made = next(e for e in trace if isinstance(e, ev.NodeCreated) and e.name == "torch::autograd::NotImplemented")
    assert why_here(trace, made.seq) == (
        "An input requires grad, and the derivative of aten::scatter.reduce is not implemented: this Node, "
        "NotImplemented, takes its place in the graph and raises an error if a backward pass runs it."
    )
    edges = [e for e in trace if isinstance(e, ev.EdgesCollected) and e.node == made.node]
    assert [len(e.edges) for e in edges] == [1]
