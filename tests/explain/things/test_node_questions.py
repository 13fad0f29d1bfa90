"""Check that the answers about a Node agree with the machine's own graph, and with a plain pass over the events."""

from __future__ import annotations

import contextlib
import io
from itertools import pairwise
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.things.answer import Question
from dispatchviz.explain.things.node_questions import LONGEST_PATH, node_questions, paths_to_leaves
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index.display_names import plain_node, tensor_name
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.testing import event
from dispatchviz.trace import Trace
from tests.explain.programs import traced
from tests.steps import line, step
from truth import programs
from truth.observers.runs import in_new_thread

from .traces import SUBJECTS, traces

NEXT = "Where do its gradients go? (next_functions: the Node, and which of its inputs)"
RUNS = "When does the engine run it?"


def answers_about(trace: Trace, node: int, at: int) -> dict[str, Question]:
    return {each.asked: each for each in node_questions(trace, node, at)}


class Numbering(ProgramRecorder):
    """A recorder that reports the number at which this recording begins to count Nodes."""

    made: Numbering

    def __init__(self) -> None:
        super().__init__()
        Numbering.made = self


def with_variables(monkeypatch: pytest.MonkeyPatch, source: str) -> tuple[Trace, dict[str, Any], int]:
    """Return the trace of a program, the variables at its end, and the number of its first Node."""
    variables: dict[str, Any] = {"torch": torch, "__name__": "__main__"}

    def record() -> Trace:
        with dispatchviz.record() as trace, contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source.replace("import torch\n", "", 1), "program", "exec"), variables)
        return trace

    monkeypatch.setattr("dispatchviz.running.recording.ProgramRecorder", Numbering)
    trace = in_new_thread(record)
    return trace, variables, Numbering.made.first_node


def grad_fns(variables: dict[str, Any]) -> list[Any]:
    """Return the grad_fns of the tensors in variables, without a tensor whose grad_fn raises."""
    found = []
    for value in variables.values():
        with contextlib.suppress(RuntimeError):
            found += [value.grad_fn] if isinstance(value, torch.Tensor) and value.grad_fn is not None else []
    return found


@pytest.mark.parametrize("subject", ["autograd", "views", "in_place", "functions", "engine", "hooks"])
def test_edges_and_leaves_are_those_of_the_live_graph(monkeypatch: pytest.MonkeyPatch, subject: str) -> None:
    seen = 0
    for name, source in list(programs.SUBJECTS[subject].items())[::3]:
        trace, variables, first = with_variables(monkeypatch, source)
        for root in grad_fns(variables):
            leaves, waiting, met = set(), [root], set()
            while waiting:
                node = waiting.pop()
                if node in met:
                    continue
                met.add(node)
                number = node._number - first
                if number < 0:
                    continue  # made before the recording, and not used
                answers, edges = answers_about(trace, number, len(trace) - 1), node.next_functions
                told = answers[NEXT]
                assert len(told.answers) + told.more == len(edges), (name, node)
                seen += len(edges)
                for answer, (place, (after, nr)) in zip(told.answers, enumerate(edges), strict=False):
                    assert answer.text.startswith(f"[{place}] ("), name
                    assert f", {nr})" in answer.text
                    if after is None:
                        assert (answer.thing, "(None, 0)" in answer.text) == (None, True)
                    else:
                        assert answer.thing == NodeThing(after._number - first), (name, answer.text)
                        assert plain_node(type(after).__name__) in answer.text
                        waiting.append(after)
                if hasattr(node, "variable"):
                    leaves.add(node._number - first)
            assert {leaf for leaf, _ in paths_to_leaves(trace, root._number - first)} == leaves, name
    assert seen


@pytest.mark.parametrize("subject", SUBJECTS)
def test_saves_releases_and_runs_are_the_events_of_the_node(subject: str) -> None:
    """The answers are all events of these kinds about a Node, and no others."""
    for name, trace in traces(subject):
        for node in index(trace).nodes:
            answers = answers_about(trace, node, len(trace) - 1)
            about = [each for each in trace if getattr(each, "node", None) == node]
            saved = (ev.VariableSaved, ev.VariableNotSaved, ev.VariablesReleased)
            ran = (ev.NodeStarted, ev.NodeSkipped, ev.NodeFinished)
            runs = [each for each in about if isinstance(each, ev.NodeStarted)]
            written = [
                each.seq for each in trace if isinstance(each, ev.GradientAccumulated) and _of(trace, each, node)
            ]
            for question, expected in (
                ("What did it save?", [each.seq for each in about if isinstance(each, saved)]),
                (RUNS, sorted([*(each.seq for each in about if isinstance(each, ran)), *written])),
            ):
                told = answers[question]
                assert len(told.answers) + told.more == len(expected), (name, node, question)
                assert {answer.seq for answer in told.answers} <= set(expected)
            assert bool(runs) == any(answer.text.startswith("runs") for answer in answers[RUNS].answers)
            for answer in answers["What did it save?"].answers:
                kept = trace[answer.seq]  # type: ignore[index]
                if isinstance(kept, ev.VariableSaved) and kept.tensor is not None:
                    assert answer.thing == TensorThing(kept.tensor)
                    assert f" as {kept.name}" in answer.text


def _of(trace: Trace, written: ev.GradientAccumulated, node: int) -> bool:
    """Return whether a write of a gradient happens in the run of a Node."""
    running = next((each for each in trace.ancestors(written.seq) if isinstance(each, ev.NodeStarted)), None)
    return running is not None and running.node == node


@pytest.mark.parametrize("subject", SUBJECTS)
def test_path_to_a_leaf_follows_edges(subject: str) -> None:
    for name, trace in traces(subject):
        for node in index(trace).nodes:
            for leaf, path in paths_to_leaves(trace, node):
                assert (path[0], path[-1]) == (node, leaf), name
                for here, after in pairwise(path):
                    edges = index(trace).edges[here].edges
                    assert after in [edge[0] for edge in edges if edge], (name, here)


PROGRAM = """
import torch
x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2, requires_grad=True)
y = x * w + w
y.sum().backward()
"""


def test_questions_about_a_node_have_all_answers() -> None:
    trace = traced(PROGRAM)
    made = step(trace, event(ev.NodeCreated, name="AddBackward0"))
    node = trace[made].node  # type: ignore[union-attr]
    answers = answers_about(trace, node, line(trace, 6))
    texts = {question: [answer.text for answer in each.answers] for question, each in answers.items()}
    gradients = trace[step(trace, event(ev.NodeStarted, name="AddBackward0"))].gradients  # type: ignore[union-attr]
    received = tensor_name(trace, gradients[0], line(trace, 6))
    returned = trace[step(trace, event(ev.NodeFinished, node=node))].gradients  # type: ignore[union-attr]
    names = " and ".join(tensor_name(trace, each, line(trace, 6)) for each in returned)
    assert texts == {
        "Who made it?": ["made by add.Tensor", "is grad_fn of y"],
        "What did it save?": [],
        NEXT: ["[0] (MulBackward0, 0) for self", "[1] (AccumulateGrad (w), 0) for other"],
        "Which leaves does it lead back to?": [
            "w, by AddBackward0 → AccumulateGrad",
            "x, by AddBackward0 → MulBackward0 → AccumulateGrad",
        ],
        RUNS: [f"runs, receives {received}", f"returns {names}"],
        "Who keeps it alive?": ["y, whose grad_fn it is"],
        "When is it freed?": [],
    }


def test_middle_of_a_long_path_is_counted() -> None:
    trace = traced("import torch\nx = torch.ones(2, requires_grad=True)\ny = x\nfor _ in range(9):\n    y = y * 2\n")
    last = step(trace, ev.NodeCreated, -1)
    (leaf,) = answers_about(trace, trace[last].node, len(trace) - 1)["Which leaves does it lead back to?"].answers  # type: ignore[union-attr]
    assert leaf.text == "x, by MulBackward0 → MulBackward0 → 6 more → MulBackward0 → AccumulateGrad"
    assert leaf.text.count("→") == LONGEST_PATH - 1


def test_node_that_does_not_run_is_reported() -> None:
    trace = traced("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n")
    made = trace[step(trace, event(ev.NodeCreated, name="MulBackward0"))]
    runs = answers_about(trace, made.node, len(trace) - 1)[RUNS]  # type: ignore[union-attr]
    assert (runs.answers, runs.none) == ((), "it does not run in this recording")
