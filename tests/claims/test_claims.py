"""The claims of sentences, checked against PyTorch, and tests that the checks notice a false claim."""

from __future__ import annotations

import importlib
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

import dispatchviz.explain.sentences.sentence_claims as c
from dispatchviz.explain.sentences.sentence_claims import Claim
from tests.amounts import some
from tests.claims import check_engine
from tests.claims.backward_errors import wrongly_predicted
from tests.claims.checks import CHECKS, Answer, PyTorchMoment, Question
from tests.claims.engine_runs import _how
from tests.claims.moments import run_on_model
from tests.claims.programs import programs
from truth.observers.runs import in_new_thread

pytestmark = pytest.mark.torch

for check in sorted(Path(__file__).parent.glob("check_*.py")):
    importlib.import_module(f"tests.claims.{check.stem}")

PARTS = 24
ALL = programs()


def differences(source: str, counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Yield every claim of a program that PyTorch contradicts. ``counts`` counts the checks by kind of sentence.

    It also yields wrong predictions of backward errors at the end of the program.
    """
    run = run_on_model(source)
    for moment in run.moments:
        shared = PyTorchMoment(source, run.trace, moment)
        for seq, statement in run.statements_at(moment):
            for claim in statement.claims:
                check = CHECKS.get(type(claim))
                if check is None:
                    continue  # another test checks that every class of claims has one
                answer = check(claim, Question(run.trace, seq, shared))
                counts[statement.kind, "cannot be asked" if answer is None else "asked"] += 1
                if answer:
                    yield f"line {moment.line}, step {seq}, {statement.kind}: {statement.text}\n  {claim}\n  {answer}"
    yield from wrongly_predicted(run, shared.pytorch)


def test_every_class_of_claims_has_a_check() -> None:
    assert not set(typing.get_args(Claim)) - CHECKS.keys()


@pytest.mark.long
@pytest.mark.parametrize("part", some(range(PARTS), 3))
def test_claims_hold_in_pytorch(part: int, record_property: Callable[[str, object], None]) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    names = sorted(ALL)[part::PARTS]
    for name in names:
        found = in_new_thread(lambda name=name: list(differences(ALL[name], counts)))
        wrong += [f"{name}: {text}\n{ALL[name]}" for text in found]
    record_property("claims_programs", len(names))
    for (kind, how), count in counts.items():
        record_property("claims", [kind, how, count])
    assert not wrong, f"{len(wrong)} differences\n" + "\n\n".join(wrong[:10])


pytest.importorskip("torch")


assert check_engine, "what it checks is in CHECKS from now on"

PROGRAM = """
import torch
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = (a * b).exp() + a.sin()
c.sum().backward(inputs=[b])
g = torch.autograd.grad((a * b).sum(), [a], retain_graph=True)
"""


def answers(position: int, *claims: c.Claim) -> list[Answer]:
    """PyTorch's answers after a statement."""
    run = run_on_model(PROGRAM)
    moment = run.moments[position]
    question = Question(run.trace, moment.steps.start, PyTorchMoment(PROGRAM, run.trace, moment))
    return [CHECKS[type(claim)](claim, question) for claim in claims]


def nodes() -> dict[str, int]:
    """Return name -> number. Leaves' Nodes have the names of their leaves."""
    trace = run_on_model(PROGRAM).trace
    made = {event.node: event.name for event in trace if type(event).__name__ == "NodeCreated"}
    leaves = [event.node for event in trace if type(event).__name__ == "AccumulatorMade"]
    return {name: number for number, name in reversed(made.items())} | dict(zip("ab", leaves, strict=True))


def test_checks_accept_true_claims_and_reject_false_ones() -> None:
    at = in_new_thread(nodes)
    mul, exp, sin = at["MulBackward0"], at["ExpBackward0"], at["SinBackward0"]
    claims: list[tuple[c.Claim, c.Claim]] = [
        (c.NodeRuns(0, at["a"], False), c.NodeRuns(0, at["a"], True)),
        (c.NodeRuns(0, at["b"], True), c.NodeRuns(0, sin, True)),
        (c.RunsBefore(0, exp, mul), c.RunsBefore(0, mul, exp)),
        (c.EdgesCounted(0, mul, 1, True), c.EdgesCounted(0, mul, 2, True)),
        (c.EdgesCounted(0, at["a"], 2, True), c.EdgesCounted(0, at["a"], 1, True)),
        (c.TopologicalBelow(0, mul, 2), c.TopologicalBelow(0, mul, 1)),
        (c.OutputDefined(0, mul, 0, False), c.OutputDefined(0, mul, 0, True)),
        (c.GradWritten(0, at["b"], "stolen"), c.GradWritten(0, at["b"], "copied")),
        (c.SavedTensorsFreed(mul, ("self", "other")), c.SavedTensorsFreed(sin, ("self",))),
    ]
    found = in_new_thread(lambda: [answers(4, *pair) for pair in claims])
    assert [true for true, _ in found] == [""] * len(claims)
    assert all(false for _, false in found)
    captured = in_new_thread(lambda: answers(5, c.GradCaptured(1, 0, True), c.GradCaptured(1, 0, False)))
    assert captured[0] == ""
    assert captured[1]


def test_every_way_of_writing_a_gradient_is_distinguished() -> None:
    one, other = torch.ones(2), torch.ones(2)
    memory = one.data_ptr()
    assert [_how(one, None, memory), _how(other, None, memory), _how(one, one, memory), _how(other, one, memory)] == [
        "stolen",
        "copied",
        "added in place",
        "added out of place",
    ]
