"""Predictions over many programs: the right choice agrees with the revealing event, and all choices can be read."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

import pytest

from dispatchviz.core.keys.key_set import highest
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.derived_queue import FIRST, derived_queues
from dispatchviz.explain.graph.queued_nodes import queue_at, queue_device
from dispatchviz.explain.predictions.dispatch_questions import NO_KEY
from dispatchviz.explain.predictions.engine_questions import NEVER, OVER, PRUNED
from dispatchviz.explain.predictions.prediction import LONGEST, MOST, Choice, Kind, Prediction
from dispatchviz.explain.predictions.trace_predictions import predictions_after
from dispatchviz.explain.trace_index.display_names import node_title, plain_node
from dispatchviz.foundation.english import counted
from tests.explain.diagnosis.cases import traced as traced_on
from tests.explain.programs import traced
from tests.explain.test_engine_state import Replay, recorded
from truth import programs

SUBJECTS = ["forum", "engine", "autograd", "hooks", "views", "in_place", "autocast", "inference", "vmap", "training",
            "custom_operators", "factories", "functions", "zero_tensors"]  # fmt: skip

EVERY = 6
"""The stride at which the programs of a subject are tested."""


@cache
def asked(subject: str) -> list[tuple[Trace, list[Prediction]]]:
    traces = map(recorded, list(programs.SUBJECTS[subject].values())[::EVERY])
    return [(trace, list(predictions_after(trace, -1))) for trace in traces]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_right_choice_is_what_happened(subject: str) -> None:
    for trace, found in asked(subject):
        for each in found:
            assert _happened(trace, each), (each, trace[each.reveals])


def _happened(trace: Trace, each: Prediction) -> bool:
    """Return whether the right choice is what the revealing event says."""
    event, right = trace[each.reveals], each.right.text
    match event:
        case ev.Dispatched():
            return right.partition(":")[0] == event.key == highest(event.key_set).name
        case ev.KernelSelected():
            taken = [(at, source) for at, (source, outcome, _) in enumerate(event.candidates) if outcome == "taken"]
            return _is_source(right, event, *taken[0]) if taken else right == "nothing: the entry is empty"
        case ev.NodeCreated():
            return right == f"yes: {plain_node(event.name)}"
        case ev.NoNodeMade():
            return right == "no"
        case ev.DependenciesCounted():
            node = next(node for node, _ in event.counts if f" {node_title(trace, node, event.seq)} " in each.question)
            if right == PRUNED:
                return node in _pruned(trace, event)
            return right == counted(dict(event.counts)[node], "gradient") and node not in _pruned(trace, event)
        case ev.DependencyMet():
            words = counted(event.left, "more gradient")
            if event.skipped:
                return right == NEVER
            return right == (f"no: it waits for {words}" if event.left else "yes: it goes into the ready queue")
        case ev.NodeStarted():
            return right.startswith(node_title(trace, event.node, event.seq)[:40])
        case ev.GradientAccumulated():
            begins = {"stolen": "stolen: ", "copied": "copied: ", "added in place": "added in place to the "}
            return right.startswith(begins.get(event.how, "the old "))
        case _:
            return False


def _pruned(trace: Trace, counted: ev.DependenciesCounted) -> set[int]:
    """The Nodes that the pass will neither run nor capture a gradient of."""
    passed = (each for each in trace[counted.seq :] if each.parent == counted.parent)
    filled = next((each for each in passed if isinstance(each, ev.ExecInfoPopulated)), None)
    return set() if filled is None else {node for node, _ in filled.pruned} - {node for node, _, _ in filled.captures}


def _is_source(right: str, event: ev.KernelSelected, place: int, source: str) -> bool:
    if source != event.key:
        return right.endswith(f" {source}")
    return right.startswith("the fallback of " if place else "the kernel registered for ") and f" {source}" in right


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_question_can_be_answered_and_read(subject: str) -> None:
    for _, found in asked(subject):
        for each in found:
            texts = [choice.text for choice in each.choices]
            assert 2 <= len(texts) <= MOST
            assert len(set(texts)) == len(texts)
            assert texts.count(each.right.text) == 1
            assert all(len(text) <= LONGEST for text in texts)
            assert all(choice.why.endswith((".", ")")) for choice in each.choices), each
            assert each.question.endswith("?")
            assert each.right.text not in each.question.split(), each
            assert each.asked == each.reveals - 1 >= 0


DOUBTS = {
    Kind.KEY: NO_KEY,
    Kind.CELL: "nothing: the entry is empty",
    Kind.NODE: "no",
    Kind.COUNT: PRUNED,
    Kind.READY: NEVER,
    Kind.NEXT: OVER,
    Kind.GRADIENT: r"not at all: \S+ stays as it is",
}
"""The choice of a learner who doubts what the question takes for granted."""


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_question_has_a_choice_that_denies_its_premise(subject: str) -> None:
    for _, found in asked(subject):
        for each in found:
            assert any(re.fullmatch(DOUBTS[each.kind], choice.text) for choice in each.choices), each


def test_a_pruned_node_waits_for_nothing_and_a_call_without_keys_goes_to_undefined() -> None:
    source = """\
        import torch
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        z = (x * w + x * w).sum()
        torch.autograd.grad(z, w)
        with torch.profiler.record_function("mine"):
            pass
        """
    found = [each for each in predictions_after(traced(source), -1) if each.right.text in DOUBTS.values()]
    assert {each.kind for each in found} == {Kind.KEY, Kind.COUNT, Kind.READY, Kind.NODE}
    assert {choice.text for each in found if each.kind is Kind.COUNT for choice in each.choices} >= {
        *(PRUNED, "one gradient", "two gradients", "three gradients")
    }


def test_every_kind_is_asked_and_no_place_is_always_right() -> None:
    places: dict[Kind, set[int]] = defaultdict(set)
    for subject in SUBJECTS:
        for _, found in asked(subject):
            for each in found:
                places[each.kind].add(each.choices.index(each.right))
    assert set(places) == set(Kind) - {Kind.OWN}
    assert all(len(found) > 1 for found in places.values()), places


def test_reasons_about_other_nodes_are_true() -> None:
    """Compare with a plain pass over the events: the Nodes that have run, are ready, or wait."""
    said = set[str]()
    for subject in ("engine", "autograd", "hooks", "training"):
        for trace, found in asked(subject):
            questions = {each.reveals: each for each in found if each.kind is Kind.NEXT}
            replay = Replay()
            for at, event in enumerate(trace):
                if (question := questions.get(at)) is not None and (now := replay.of(at - 1)) is not None:
                    ran = {e.node for e in trace[:at] if isinstance(e, ev.NodeStarted)}
                    assert isinstance(event, ev.NodeStarted)
                    for choice in question.choices:
                        said.add(_checked(trace, event, choice, ran, now.ready, now.counts))
                replay.tell(event)
    assert said == {"right", "has run", "is ready too", "has to wait", "is not ready", "the pass is over"}


def _checked(
    trace: Trace, event: ev.NodeStarted, choice: Choice, ran: set[int], ready: list[int], counts: dict[int, int]
) -> str:
    titles = {node: node_title(trace, node, event.seq) for node in {*ran, *ready, *counts, event.node}}
    named = {node for node, title in titles.items() if choice.text.partition(", sequence")[0] == title}
    if event.node in named:
        assert event.node in ready
        return "right"
    if "has already run" in choice.why:
        assert named & ran
        return "has run"
    if "is ready too" in choice.why:
        assert named & set(ready)
        return "is ready too"
    if choice.text == OVER:
        assert ready
        return "the pass is over"
    assert named, choice
    assert all(counts[node] > 0 for node in named - ran), choice
    return "has to wait" if "has to wait" in choice.why else "is not ready"


def test_the_founding_question() -> None:
    trace = traced("""\
        import torch
        x = torch.ones(2, 2, device="cuda")
        x.requires_grad_(True)
        z = torch.add(x, x)
        """)
    key = next(each for each in predictions_after(trace, -1) if "aten::add.Tensor is called" in each.question)
    said = {choice.text: choice.why for choice in key.choices}
    assert key.right.text == "AutogradCUDA"
    assert said["CUDA"] == "x is a CUDA tensor. It is in the key set, but AutogradCUDA is higher."
    assert "has a fallthrough" in said["ADInplaceOrView"]
    assert "whether it requires grad or not" in said["AutogradCUDA"]
    assert [choice.text for choice in key.choices][-2:] == ["CUDA", NO_KEY], "keys come by priority"
    assert "x: AutocastCUDA, AutogradCUDA, ADInplaceOrView, CUDA" in key.known


def test_the_answers_are_those_of_the_machine() -> None:
    """Compare with the live machine: the Node of a result, and the highest key of a tensor."""
    from dispatchviz import torch

    x = torch.ones(2, requires_grad=True)
    z = x * x
    source = "import torch\nx = torch.ones(2, requires_grad=True)\nz = x * x\n"
    found = [each for each in predictions_after(traced(source), -1) if "aten::mul.Tensor" in each.question]
    key, node = (next(each for each in found if each.kind is kind) for kind in (Kind.KEY, Kind.NODE))
    assert node.right.text == f"yes: {z.grad_fn.name()}"
    assert key.right.text in str(torch._C._dispatch_keys(x))


def test_calls_of_kernels_are_no_questions_of_the_outer_level() -> None:
    trace = traced("import torch\nx = torch.ones(2, requires_grad=True)\ny = x.to(torch.float64).sum()\ny.backward()\n")
    outer = {each.reveals for each in predictions_after(trace, -1, outer=True)}
    every = {each.reveals: each for each in predictions_after(trace, -1)}
    assert outer == {at for at, each in every.items() if each.is_outer} | {len(trace) - 1} & set(every)
    inner = [each for each in every.values() if not each.is_outer]
    assert any("aten::_to_copy is called" in each.question for each in inner), "within aten::to"
    assert not any("aten::to.dtype is called" in each.question for each in inner)


def test_keys_come_by_priority() -> None:
    for subject in SUBJECTS:
        for trace, found in asked(subject):
            for each in found:
                event = trace[each.reveals]
                if each.kind is Kind.KEY and isinstance(event, ev.Dispatched):
                    order = [_functionality(choice.text.partition(":")[0]) for choice in each.choices]
                    assert order == sorted(order, reverse=True), each


def _functionality(name: str) -> int:
    """The bit of a key, by its full name or by that of its functionality."""
    key = DispatchKey[name]
    return max((bit for bit in range(62) if key.bits >> bit & 1), default=0)


def test_equal_situations_are_one_topic() -> None:
    source = "import torch\nx = torch.ones(2)\n" + "y = x * 2.0\n" * 3
    keys = [
        each for each in predictions_after(traced(source), -1, outer=True) if "mul.Tensor is called" in each.question
    ]
    assert len({each.topic for each in keys if each.kind is Kind.KEY}) == 1
    assert len([each for each in keys if each.kind is Kind.KEY]) == 3


@pytest.mark.torch
def test_questions_about_a_recording_of_pytorch_have_right_answers() -> None:
    source = "import torch\nx = torch.ones(2, 2, requires_grad=True)\ny = torch.mm(x, x) + 1\ny.sum().backward()\n"
    trace = traced_on(source, "torch")
    found = list(predictions_after(trace, -1))
    assert all(_happened(trace, each) for each in found)
    nodes = [each.right.text for each in found if each.kind is Kind.NODE]
    assert nodes == ["yes: AddBackward0", "yes: SumBackward0"], "the Node of a leaf shows the answer for mm"


@pytest.mark.torch
def test_questions_about_the_next_node_are_those_of_the_model() -> None:
    model, recording = (next_nodes(traced_on(DIAMOND, engine)) for engine in ("model", "torch"))
    assert len(model) == 6
    assert recording == model


DIAMOND = """
import torch
x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
a = x * w
(a.sin() + a.cos()).sum().backward()
"""


def next_nodes(trace: Trace) -> list[tuple[str, str, set[str]]]:
    """Return the answers to the questions about the next Node, with their reasons and the wrong choices.

    The numbers of Nodes and the sequence numbers depend on what ran before.
    """

    def plain(text: str) -> str:
        return re.sub(r"\d+| Its gradient is .*", "", text).strip()

    found = [each for each in predictions_after(trace, -1) if each.kind is Kind.NEXT]
    return [
        (plain(each.right.text), plain(each.right.why), {plain(choice.text) for choice in each.choices})
        for each in found
    ]


def test_derived_queue_begins_as_the_engines_own() -> None:
    compared = 0
    for trace, _ in (*asked("engine"), *asked("hooks"), *asked("training")):
        for started in (event for event in trace if isinstance(event, ev.BackwardStarted)):
            for step, derived in derived_queues(trace, started.seq).items():
                event = trace[step]
                assert isinstance(event, ev.NodeStarted)
                own = list(queue_at(trace, event).of(queue_device(event.device), started.depth))
                assert [each.sequence_nr for each in derived] == [each.sequence_nr for each in own[:FIRST]]
                assert len(own) > FIRST or set(derived) == set(own)
                compared += 1
    assert compared > 50, "most passes of these programs run all Nodes"


@pytest.mark.parametrize(
    "program",
    [
        "torch.autograd.grad(y, x)",
        "y.backward(inputs=[x])",
        "y.register_hook(lambda grad: 1 / 0)\ntry:\n    y.backward()\nexcept ZeroDivisionError:\n    pass",
    ],
)
def test_no_queue_is_derived_for_a_pass_that_does_not_run_all_nodes(program: str) -> None:
    source = f"import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\n{program}\n"
    trace = traced(source)
    (started,) = trace.steps_of(ev.BackwardStarted)
    assert derived_queues(trace, started) == {}
