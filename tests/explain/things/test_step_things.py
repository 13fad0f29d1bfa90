"""Tests of the tensors and Nodes of a step, the main one first."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.codegen.operator_at_step import operator_at
from dispatchviz.explain.things.crossing import crossing
from dispatchviz.explain.things.step_things import MOST, things_of
from dispatchviz.explain.things.tensor_questions import description, questions, title
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index import statements
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


def test_main_thing_of_a_step_comes_first() -> None:
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
def test_all_things_have_questions(subject: str) -> None:
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


def test_a_line_that_calls_functions_is_one_statement() -> None:
    trace = traced("""
    import torch
    def twice(t):
        return t * 2
    x = torch.ones(2, requires_grad=True)
    y = twice(x) + twice(x)
    z = y + 1
    z.sum().backward()
    """)
    at = line(trace, 6)
    lines = [each for each in trace if isinstance(each, ev.SourceLine) and each.line == 6]
    assert statements.parts(trace, at) == [each.seq for each in lines]
    assert len(lines) == 2
    assert statements.parts(trace, line(trace, 7)) == [line(trace, 7)]
    assert title(trace, things_of(trace, at)[0], last_step(trace)) == "y"
    first = crossing(trace, at)
    run = step(trace, event(ev.NodeStarted, name="AddBackward0"), 1)
    assert (first.seq, first.text) == (
        run,
        f"{title(trace, NodeThing(trace[run].node), at)} runs, the first of three Nodes made here",
    )  # type: ignore[union-attr]


def test_a_line_in_a_block_of_with_or_in_a_hook_ends_before_the_next_one() -> None:
    trace = traced("""
    import torch
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode(False):
        y = x * 2
        z = y.sum()
    z.register_hook(lambda gradient: gradient * 2)
    z.backward()
    def plus():
        w = x + 1
    plus()
    """)
    assert called(trace, 5) == ["THPVariable_mul"]
    assert called(trace, 6) == ["THPVariable_sum"]
    assert called(trace, 4) == ["THPVariable_mul", "THPVariable_sum"]
    assert called(trace, 11) == ["THPVariable_add"], "of the function that it calls"
    hook, backward = step(trace, event(ev.SourceLine, function="<lambda>")), line(trace, 8)
    assert hook < statements.end(trace, hook) < trace.ends[step(trace, ev.NodeStarted)]
    assert statements.end(trace, backward) == trace.ends[backward] == line(trace, 9) - 1
    assert operator_at(trace, line(trace, 6)) == "aten::sum"
    assert crossing(trace, line(trace, 5)).seq == step(trace, event(ev.NodeStarted, name="MulBackward0"))


def called(trace: Trace, number: int) -> list[str]:
    """Return the bindings that a line calls."""
    at = line(trace, number)
    events = trace[at : statements.end(trace, at) + 1]
    return [each.pytorch_function for each in events if isinstance(each, ev.BindingEntered)]
