"""Sentences about programs, histories and transforms, where the page of sentences has no example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import dispatchviz
import dispatchviz.torch as model
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label, rule, statements, why_here
from tests.explain.programs import traced


def told(trace: Trace, *kinds: type[ev.Event]) -> list[str]:
    return [why_here(trace, event.seq) for event in trace if isinstance(event, kinds)]


@pytest.fixture(scope="module")
def registered() -> Trace:
    return traced(
        """
        import torch
        lib = torch.library.Library("words", "DEF")
        lib.define("double(Tensor x) -> Tensor")
        lib.impl("double", lambda x: x * 2, "CPU")
        """
    )


def test_the_registration_comes_before_its_effect(registered: Trace) -> None:
    kernel, cells = told(registered, ev.KernelRegistered, ev.CellsRecomputed)
    assert kernel == "<lambda> at script.py:5 is registered as the kernel of words::double for CPU."
    assert cells == "This changes one dispatch table entry of words::double: CPU."
    recomputed = next(event for event in registered if isinstance(event, ev.CellsRecomputed))
    assert label(registered, recomputed.seq) == "1 cell of words::double changed"


def test_ctrl_c_interrupts_and_is_no_error() -> None:
    trace = traced("import torch\nraise KeyboardInterrupt\n")
    assert told(trace, ev.ProgramRaised) == ["The program was interrupted at line 2 (Ctrl+C)."]
    assert label(trace, len(trace) - 1) == "interrupted"


def test_an_error_without_a_message_has_no_colon() -> None:
    trace = traced("import torch\nassert torch.ones(1) is None\n")
    assert told(trace, ev.ProgramRaised) == ["AssertionError ended the program at line 2."]
    assert label(trace, len(trace) - 1) == "AssertionError"


def test_a_name_is_a_variable() -> None:
    trace = traced("import torch\ny = torch.ones(2)\n")
    bound = next(event for event in trace if isinstance(event, ev.NameBound))
    assert label(trace, bound.seq) == "y = t0"
    assert why_here(trace, bound.seq).startswith("y now refers to t0, ")


def test_why_a_tensor_of_numbers_is_made_behind_guards() -> None:
    trace = traced("import torch\ny = torch.tensor([1.0])\n")
    guards = told(trace, ev.GuardEntered)
    assert any("because torch.jit.trace must not record how a tensor is made from Python numbers" in g for g in guards)
    assert any("no mode or transform may intercept or wrap a new tensor before it is finished" in g for g in guards)
    assert not any("needs it for" in guard for guard in guards)


def test_a_key_has_one_fallback_and_many_kernels() -> None:
    fallback = ev.KernelRegistered(0, None, "", "Tracer", "k", False)
    kernel = ev.KernelRegistered(0, None, "aten::add.Tensor", "CPU", "k", False)
    assert rule(fallback).text == "A key has one fallback for all operators. Registering a second one is an error."
    assert rule(kernel).text.startswith("The newest kernel of a key is the active one")


LEAF = "import torch\na = torch.ones(4, requires_grad=True)\n"


def kinds(trace: Trace) -> set[str]:
    return {statement.kind for event in trace for statement in statements(trace, event.seq)}


@pytest.mark.parametrize(
    ("make", "made", "message"),
    [
        ("with torch.no_grad():\n    v = a[1:3]", "It was created while grad mode was off", "no_grad mode"),
        ("with torch.inference_mode():\n    v = a[1:3]", "It was created in inference mode", "inference mode"),
        ("v, w = (a * 1).chunk(2)", "It is one of several views that one call created", "returns multiple views"),
    ],
)
def test_write_to_view_raises_as_the_sentence_says(make: str, made: str, message: str) -> None:
    trace = traced(f"{LEAF}{make}\n")
    assert told(trace, ev.ViewMade)[0].endswith(
        f"{made}, so writing to it in place raises an error while grad mode is on."
    )
    space: dict[str, object] = {"torch": model}
    exec(f"{LEAF}{make}\n".replace("import torch\n", ""), space)
    with pytest.raises(RuntimeError, match=message):
        space["v"].mul_(2)  # type: ignore[attr-defined]


def test_whole_numbers_have_no_history_to_spoil() -> None:
    trace = traced("import torch\nb = torch.arange(4)\nwith torch.no_grad():\n    v = b[1:3]\n")
    assert told(trace, ev.ViewMade) == ["v (t1) is a view of its base, b, and shares the memory of b."]


HOOKS = "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):\n"


def test_hooks_that_come_later_take_the_version_away() -> None:
    late = "c.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), lambda t: t)\n"
    trace = traced(f"{LEAF}b = a * 1\nc = b * b\n{late}b.add_(1)\n")
    (bumped,) = told(trace, ev.VersionBumped)
    assert "saved version 0 as other: its backward will raise an error." in bumped
    assert "saved version 0 as self, packed by a hook" in bumped


def test_a_view_as_another_dtype_is_none_for_autograd() -> None:
    trace = traced(LEAF + "b = (a * 1).view(torch.float32)\n")
    assert told(trace, ev.ViewMade) == []
    b = (model.ones(2, requires_grad=True) * 1).view(model.float32)
    assert not b._is_view()
    assert not b.requires_grad
    b.mul_(2)
    assert b._version == 1


def test_inference_mode_off_is_named_off() -> None:
    off = "with torch.inference_mode():\n    with torch.inference_mode(False):\n        b = a * 2\n"
    trace = traced(LEAF + off)
    guards = [text for text in told(trace, ev.GuardEntered) if "InferenceMode" in text]
    assert guards == [
        (
            "The guard InferenceMode adds the autograd keys to the thread-local exclude set and removes "
            "ADInplaceOrView from the thread-local include set until it ends, because inference mode is on."
        ),
        (
            "The guard InferenceMode removes the autograd keys from the thread-local exclude set and adds "
            "ADInplaceOrView to the thread-local include set until it ends, because inference mode is off."
        ),
    ]
    assert told(trace, ev.GradModeChanged) == [
        "Inference mode switches grad mode off as well.",
        "inference_mode(False) switches grad mode on, so operators record Nodes again.",
        "Leaving inference mode switches grad mode back off, because inference mode is still on.",
        "Leaving inference mode switches grad mode back on, so operators record Nodes again.",
    ]


def test_a_wrapper_names_its_transform() -> None:
    trace = traced("import torch\ntorch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))\n")
    assert all(
        "for the jvp of level 1. Its tangent belongs to that level" in t for t in told(trace, ev.TensorWrapperMade)
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
    assert "will raise" in told(trace, ev.VersionBumped)[-1]
    assert "will raise" not in told(Trace(trace.header, plain), ev.VersionBumped)[-1]


def test_node_without_derivative_lists_its_edges_once() -> None:
    trace = traced(f"{LEAF}b = a.scatter(0, torch.tensor([0]), torch.ones(1), reduce='add')\n")
    made = next(e for e in trace if isinstance(e, ev.NodeCreated) and e.name == "torch::autograd::NotImplemented")
    assert why_here(trace, made.seq) == (
        "An input requires grad, but the derivative of aten::scatter.reduce is not implemented. The Node "
        "NotImplemented takes its place in the graph and raises an error if a backward pass runs it."
    )
    edges = [e for e in trace if isinstance(e, ev.EdgesCollected) and e.node == made.node]
    assert [len(e.edges) for e in edges] == [1]


def recorded(function: Callable[..., Any]) -> Trace:
    x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    with dispatchviz.record() as trace:
        torch.vmap(function)(x)
    return trace


@pytest.mark.parametrize("function", [torch.sin, lambda a: torch.add(a, a)], ids=["sin", "add"])
def test_every_step_is_a_sentence(function: Callable[..., Any]) -> None:
    trace = recorded(function)
    for event in trace:
        if not isinstance(event, ev.SourceLine):
            assert why_here(trace, event.seq).endswith("."), event
            assert label(trace, event.seq)


def test_calls_say_which_way_they_go() -> None:
    said = told(recorded(torch.sin), ev.Dispatched)
    assert said[0] == (
        "torch.sin(t0) calls the operator aten::sin. FuncTorchDynamicLayerFrontMode is the highest key in the call's "
        "key set, so it selects the kernel."
    )
    assert said[1] == (
        "The transform on top calls aten::sin again, without the keys that it has just excluded. FuncTorchBatched is "
        "the highest key in the call's key set, so it selects the kernel. The arguments are on a stack (boxed)."
    )
    assert said[2].startswith(
        "sin (BatchRulesUnaryOps.cpp) calls aten::sin on the tensors that the batched tensors wrap. "
    )
    assert said[3].startswith("aten::sin is called again, as if that transform were not there. ")


def test_guards_give_their_reasons() -> None:
    guards = told(recorded(torch.sin), ev.GuardEntered)
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
    assert words[4].startswith("The results of aten::sin")


def test_the_source_shown_is_the_batch_rule() -> None:
    trace = recorded(lambda a: a.view(3, 1))
    kernel = next(e for e in trace if isinstance(e, ev.KernelEntered) and "BatchRules" in e.kernel)
    assert kernel.file == "core/layers/functorch/batch_rules/batch_rules_views.py"


def test_kernels_name_their_task() -> None:
    front, rule, back, *_ = told(recorded(torch.sin), ev.KernelEntered)
    assert "passes the call to the transform on top of the stack" in front
    assert "It is a batch rule" in rule
    assert "pops the transform off the stack" in back
