"""Which things a step is about: the main one first."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.things.questions import description, questions, title
from dispatchviz.explain.things.step_things import MOST, things_of
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.testing import event
from tests.explain.programs import traced
from tests.steps import last_step, line, step

from .traces import SUBJECTS, traces

PROGRAM = """
import torch
x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2)
y = x * w
w.add_(1)
y.sum().backward()
"""


def test_the_main_thing_of_a_step() -> None:
    trace = traced(PROGRAM)

    def names(at: int) -> list[str]:
        return [title(trace, thing, last_step(trace)) for thing in things_of(trace, at)]

    assert names(line(trace, 2)) == []
    assert names(line(trace, 5)) == ["y", "x", "w", "MulBackward0"], "what the line names, what it works on, its Node"
    assert names(step(trace, event(ev.Dispatched, operator="aten::mul.Tensor", how="call")))[0] == "y"
    assert names(step(trace, event(ev.NodeCreated, name="MulBackward0")))[0] == "MulBackward0"
    assert names(step(trace, ev.VariableSaved))[:2] == ["w", "x"]
    assert "MulBackward0" in names(step(trace, ev.VariableSaved))
    running = step(trace, event(ev.NodeStarted, name="SumBackward0"))
    assert names(running)[0] == "SumBackward0"
    assert names(step(trace, ev.VersionBumped))[0] == "w"
    assert names(last_step(trace))[0] == "w", "the end of a program that raised: what was changed after it was saved"
    assert names(line(trace, 7))[-1] == "SumBackward0"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_all_things_can_be_asked(subject: str) -> None:
    for name, trace in traces(subject)[::2]:
        known = index(trace)
        for at in range(0, len(trace), 3):
            things = things_of(trace, at)
            assert len(things) == len(set(things)) <= MOST, (name, at)
            for thing in things:
                if isinstance(thing, TensorThing):
                    assert thing.number in known.tensors
                else:
                    assert isinstance(thing, NodeThing)
                    assert thing.number in known.nodes
        for thing in things_of(trace, len(trace) - 1):
            assert title(trace, thing, len(trace) - 1)
            assert isinstance(description(trace, thing, 0), str)
            for question in questions(trace, thing, len(trace) // 2):
                assert question.answers or question.none, (name, question.asked)
                assert all(answer.seq is not None and 0 <= answer.seq < len(trace) for answer in question.answers)
