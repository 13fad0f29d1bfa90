"""What is said of histories, of views and of writes that backward will not forgive: PyTorch's own words beside ours.

Over all programs the same sentences are put to PyTorch in ``tests/claims``.
"""

from __future__ import annotations

import msgspec
import pytest

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


def test_a_view_that_was_written_to_has_its_history_made_anew() -> None:
    trace = traced(LEAF + "b = a.exp()\ns = b[1:3]\ns.mul_(2)\n")
    assert said(trace, ev.HistoryRebased) == [
        (
            "b was changed in place through a view of it, so its history is rebased: its grad_fn is now CopySlices, "
            "which applies the operator's own Node to the part that was written; ExpBackward0, its previous grad_fn, "
            "is in its next_functions."
        ),
        (
            "s is a view of b, and their version has changed since s's grad_fn was set, so its grad_fn is regenerated "
            "from the history of b: it is AsStridedBackward0, which leads to CopySlices. SliceBackward0, its previous "
            "grad_fn, is not part of it."
        ),
    ]
    assert said(trace, ev.NodeCreated)[-2:] == [
        (
            "aten::mul_.Tensor wrote through a view, so the history of the view's base is rebased onto a Node, "
            "CopySlices, sequence number 3."
        ),
        (
            "The version of a view and its base has changed since the view's grad_fn was set, so that is regenerated: "
            "AsStridedBackward0, sequence number 4."
        ),
    ]


def test_a_sibling_is_made_anew_when_it_is_read() -> None:
    trace = traced(LEAF + "b = a.exp()\ns, t = b[1:3], b[:2]\ns.mul_(2)\nt.grad_fn\n")
    assert (
        "t is a view of b, and their version has changed since t's grad_fn was set"
        in said(trace, ev.HistoryRebased)[-1]
    )


def test_what_required_no_grad_begins_its_history() -> None:
    trace = traced(LEAF + "c = torch.ones(4)\nc.mul_(a)\nd = torch.ones(4)\nd[1:].mul_(a[1:])\n")
    first, base, view = said(trace, ev.HistoryRebased)
    assert first.endswith("its history begins here: its grad_fn is now MulBackward0 (n0), and it requires grad.")
    assert base.startswith("d was changed in place through a view of it, so its history begins here: ")
    assert "which it was" not in view


@pytest.mark.parametrize(
    ("make", "made", "message"),
    [
        ("with torch.no_grad():\n    v = a[1:3]", "It was made while grad mode was off", "no_grad mode"),
        ("with torch.inference_mode():\n    v = a[1:3]", "It was made in inference mode", "inference mode"),
        ("v, w = (a * 1).chunk(2)", "It is one of several views that one call made", "returns multiple views"),
    ],
)
def test_a_write_to_the_view_is_said_to_raise_and_does(make: str, made: str, message: str) -> None:
    trace = traced(f"{LEAF}{make}\n")
    assert said(trace, ev.ViewMade)[0].endswith(
        f"{made}, so writing to it in place raises an error while grad mode is on."
    )
    space: dict[str, object] = {"torch": model}
    exec(f"{LEAF}{make}\n".replace("import torch\n", ""), space)
    with pytest.raises(RuntimeError, match=message):
        space["v"].mul_(2)  # type: ignore[attr-defined]


def test_a_view_of_what_requires_no_grad_may_be_written_to_with_plain_numbers() -> None:
    trace = traced("import torch\nb = torch.ones(4)\nwith torch.no_grad():\n    v = b[1:3]\nv.mul_(2)\n")
    assert said(trace, ev.ViewMade) == [
        (
            "v (t1) is a view: it shares the memory of b and has it as its base. It was made while grad mode "
            "was off: "
            "while grad mode is on, writing to it in place raises an error as soon as its base, or what is written, "
            "requires grad."
        )
    ]


def test_whole_numbers_have_no_history_to_spoil() -> None:
    trace = traced("import torch\nb = torch.arange(4)\nwith torch.no_grad():\n    v = b[1:3]\n")
    assert said(trace, ev.ViewMade) == ["v (t1) is a view: it shares the memory of b and has it as its base."]


def test_what_a_function_gives_is_told_once_and_as_it_will_be() -> None:
    trace = traced(
        LEAF + "class Part(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return x[1:]\n"
        "    @staticmethod\n    def backward(ctx, grad):\n        return None\n"
        "b = Part.apply(a * 1)\n"
    )
    assert "error" not in said(trace, ev.ViewMade)[0]
    assert said(trace, ev.FunctionOutput)[0].endswith(
        "It is a view, and writing to it would bypass the Function's backward: while grad mode is on, an in-place "
        "operation on it raises an error."
    )


HOOKS = "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):\n"


@pytest.mark.parametrize("hooks", [HOOKS, "with torch.autograd.graph.save_on_cpu():\n"])
def test_with_hooks_no_version_is_compared_and_nothing_raises(hooks: str) -> None:
    trace = traced(f"{LEAF}b = a * 1\n{hooks}    c = b * b\nb.add_(1)\n")
    (bumped,) = said(trace, ev.VersionBumped)
    assert "raise an error." in bumped
    assert bumped.endswith(
        "saved version 0 as other and self, packed by a hook: no version is compared, and this change will not make "
        "its backward raise an error."
    )
    assert "saved version passed" not in kinds(trace)
    assert (
        "will not be compared: whether a later in-place change affects backward depends on the hooks."
        in (said(trace, ev.VariableSaved)[-1])
    )


def test_hooks_that_come_later_take_the_version_away() -> None:
    late = "c.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), lambda t: t)\n"
    trace = traced(f"{LEAF}b = a * 1\nc = b * b\n{late}b.add_(1)\n")
    (bumped,) = said(trace, ev.VersionBumped)
    assert "saved version 0 as other: its backward will raise an error." in bumped
    assert "saved version 0 as self, packed by a hook" in bumped


def test_a_checkpoint_raises_only_if_its_input_has_changed() -> None:
    checkpoint = "from torch.utils.checkpoint import checkpoint\n"
    trace = traced(f"{LEAF}{checkpoint}b = a * 1\nc = checkpoint(lambda t: t * t, b, use_reentrant=False)\nb.add_(1)\n")
    (bumped,) = said(trace, ev.VersionBumped)
    assert bumped.endswith(
        "what it saved will be recomputed, which raises an error if an input of the checkpoint has changed."
    )


def test_a_function_raises_when_it_unpacks() -> None:
    trace = traced(
        LEAF + "class Square(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x * x\n"
        "    @staticmethod\n    def backward(ctx, grad):\n        return grad\n"
        "b = a * 1\nc = Square.apply(b)\nb.add_(1)\n"
    )
    assert "reading ctx.saved_tensors in backward will raise an error." in said(trace, ev.VersionBumped)[-1]


def test_detaching_in_place_names_the_nodes_that_will_raise() -> None:
    trace = traced(LEAF + "b = a * 2\nc = b.cosh()\nb.detach_()\n")
    assert said(trace, ev.RequiresGradSet)[-1] == (
        "b loses its history: MulBackward0 is no longer its grad_fn, it is a leaf now. CoshBackward0, made "
        "on line 4, "
        "saved it as self and would need its history: its backward will raise an error."
    )


def test_detach_has_one_reason() -> None:
    trace = traced(LEAF + "b = a.detach()\n")
    assert said(trace, ev.NoNodeMade)[-1].startswith("No Node is made: detach returns a tensor without history, on ")
    assert "never differentiable" not in kinds(trace)


def test_a_view_as_another_dtype_is_none_for_autograd() -> None:
    trace = traced(LEAF + "b = (a * 1).view(torch.float32)\n")
    assert said(trace, ev.ViewMade) == []
    b = (model.ones(2, requires_grad=True) * 1).view(model.float32)
    assert not b._is_view()
    assert not b.requires_grad
    b.mul_(2)
    assert b._version == 1


def test_why_a_guard_stands_is_told() -> None:
    trace = traced("import torch\na = torch.tensor([1.0])\nwith torch.inference_mode(False):\n    pass\n")
    assert not any("the code around it asked for that" in text for text in said(trace, ev.GuardEntered))


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
