"""The backward graph as of any step, from events alone."""

from __future__ import annotations

import cProfile

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import EVERYTHING, BackwardGraph, backward_graph
from dispatchviz.explain.graph.graph_node import NO_NUMBER, State
from tests.explain.founding import founding
from tests.graphs import GraphTape, chain
from tests.steps import step


def titles(graph: BackwardGraph) -> list[str]:
    return [node.title for node in graph]


def states(graph: BackwardGraph) -> list[str]:
    return [f"{node.title}: {node.state.value} {node.left or node.order or ''}".rstrip() for node in graph]


def test_the_founding_program() -> None:
    graph = backward_graph(founding())
    total, add, accumulate = graph
    assert titles(graph) == ["SumBackward0", "AddBackward0", "AccumulateGrad (x)"]
    assert [node.order for node in graph] == [1, 2, 3]
    assert [node.sequence_nr for node in graph] == [1, 0, NO_NUMBER]
    assert [node.topological_nr for node in graph] == [2, 1, 0]
    assert [node.line for node in graph] == [7, 6, 6]
    assert (graph.roots, graph.graph_task) == ((total.number,), 0)
    assert [(edge.target, edge.argument, edge.tensor) for edge in add.edges] == [
        (accumulate.number, "self", "x"),
        (None, "other", "y"),
    ]
    assert add.attributes == (("alpha", "1"),)
    assert [tensor and (tensor.name, tensor.shape) for node in graph for tensor in node.inputs] == [
        ("t3", ()),
        ("z", (2, 2)),
        ("x", (2, 2)),
    ]
    assert accumulate.leaf
    assert (accumulate.leaf.dtype, accumulate.device) == ("torch.float32", "cuda:0")


def test_the_graph_grows_while_the_program_runs() -> None:
    trace = founding()
    grown = [titles(backward_graph(trace, step(trace, ev.NodeCreated, nth))) for nth in range(3)]
    assert grown == [
        ["AddBackward0"],
        ["AddBackward0", "AccumulateGrad"],
        ["SumBackward0", "AddBackward0", "AccumulateGrad (x)"],
    ]
    assert titles(backward_graph(trace, 0)) == []


def test_a_step_is_about_a_node() -> None:
    trace = founding()
    for kind in (ev.NodeCreated, ev.EdgesCollected, ev.NodeQueued, ev.NodeStarted):
        for event in trace:
            if isinstance(event, kind):
                assert backward_graph(trace, event.seq).highlight == event.node
    inside = next(
        e for e in trace if isinstance(e, ev.TensorCreated) and isinstance(trace[e.parent or 0], ev.NodeStarted)
    )
    started = trace[inside.parent or 0]
    assert isinstance(started, ev.NodeStarted)
    assert backward_graph(trace, inside.seq).highlight == started.node


def test_nodes_have_the_names_of_the_step() -> None:
    tape = GraphTape()
    x = tape.leaf("x")
    [y] = tape.op("MulBackward0", x, x)
    named = tape.add(ev.NameBound, "y", y)
    moved = tape.add(ev.NameBound, "x", tape.tensor())
    trace = tape.trace()
    before, after = (titles(backward_graph(trace, at))[1] for at in (named, moved))
    outputs = [[t and t.name for t in next(iter(backward_graph(trace, at))).inputs] for at in (named - 1, named)]
    assert before == "AccumulateGrad (x)"
    assert after != before, "the variable names another tensor now"
    assert "t0" in after
    assert outputs == [["y (t1)"], ["y"]]


def two_backwards() -> Trace:
    """Two graphs with a leaf in common, the second one with a branch that no backward needs."""
    tape = GraphTape()
    x = tape.leaf("x")
    [a] = tape.op("ExpBackward0", x, saved=(x,))
    tape.backward(a)
    [b] = tape.op("LogBackward0", x)
    tape.op("SinBackward0", x)
    tape.backward(b)
    tape.op("CosBackward0", x)
    return tape.trace()


def test_several_backwards_show_the_last_graph_by_default() -> None:
    trace = two_backwards()
    assert titles(backward_graph(trace)) == ["LogBackward0", "AccumulateGrad (x)"]
    assert titles(backward_graph(trace, of=0)) == ["ExpBackward0", "AccumulateGrad (x)"]
    assert len(backward_graph(trace, of=EVERYTHING)) == 5
    with pytest.raises(ValueError, match="the trace has no backward pass 7; its backward passes are: 0, 1"):
        backward_graph(trace, of=7)


def test_a_named_backward_is_shown_as_it_ended() -> None:
    assert states(backward_graph(two_backwards(), of=0)) == [
        "ExpBackward0: done, freed 1",
        "AccumulateGrad (x): done 2",
    ]


def test_the_graph_that_a_step_is_about() -> None:
    trace = two_backwards()
    first, second = (step(trace, ev.BackwardStarted, nth) for nth in range(2))
    assert titles(backward_graph(trace, first)) == ["ExpBackward0", "AccumulateGrad (x)"]
    assert titles(backward_graph(trace, second - 1)) == ["SinBackward0", "LogBackward0", "AccumulateGrad (x)"]
    assert titles(backward_graph(trace, second)) == ["LogBackward0", "AccumulateGrad (x)"]
    assert titles(backward_graph(trace, len(trace) - 1)) == ["CosBackward0", "AccumulateGrad (x)"]


def test_another_backward_begins_afresh() -> None:
    tape = GraphTape()
    x = tape.leaf("x")
    [y] = tape.op("MulBackward0", x, x)
    tape.backward(y)
    tape.backward(y)
    trace = tape.trace()
    counted = step(trace, ev.NodeQueued, 2)
    assert states(backward_graph(trace, counted)) == ["MulBackward0: queued", "AccumulateGrad (x): waiting 2"]
    assert states(backward_graph(trace)) == ["MulBackward0: done 1", "AccumulateGrad (x): done 2"]


def test_several_roots_hang_below_one() -> None:
    tape = GraphTape()
    x = tape.leaf("x")
    [a], [b] = tape.op("ExpBackward0", x), tape.op("LogBackward0", x)
    tape.backward(a, b)
    graph = backward_graph(tape.trace())
    assert titles(graph) == ["GraphRoot", "LogBackward0", "ExpBackward0", "AccumulateGrad (x)"]
    assert [graph[root].title for root in graph.roots] == ["ExpBackward0", "LogBackward0"]


def test_a_node_that_raises() -> None:
    tape = GraphTape()
    x = tape.leaf("x")
    [y] = tape.op("ExpBackward0", x)
    [z] = tape.op("SumBackward0", y)
    tape.backward(z, raising_in="ExpBackward0")
    raised = tape.events[-1].seq
    tape.add(ev.ProgramRaised, "RuntimeError", "modified", "a.py", 3)
    trace = tape.trace()
    assert states(backward_graph(trace, raised))[1] == "ExpBackward0: running 2"
    assert states(backward_graph(trace)) == [
        "SumBackward0: done 1",
        "ExpBackward0: raised an error 2",
        "AccumulateGrad (x): not run",
    ], "nobody waits any more for what a backward would have brought that has ended"


def test_a_captured_gradient() -> None:
    tape = GraphTape()
    x = tape.leaf("x")
    tape.op("ExpBackward0", x)
    tape.add(ev.GradientCaptured, 0, 0, None, 0)
    assert backward_graph(tape.trace())[0].state is State.CAPTURED


def test_a_trace_that_does_not_say_everything() -> None:
    tape = GraphTape()
    tape.add(ev.NodeCreated, 0, "AddBackward0", 0, 0, 1)
    tape.add(ev.EdgesCollected, 0, ((5, 1), None), (), 1)
    tape.add(ev.HistorySet, 9, 0, 1)
    graph = backward_graph(tape.trace())
    assert titles(graph) == ["AddBackward0"]
    assert graph[0].inputs[0] is None
    assert graph[0].inputs[1] is not None
    assert graph[0].inputs[1].shape is None
    assert [edge.argument for edge in graph[0].edges] == ["", ""]


def test_a_step_in_a_big_graph_is_no_more_work_per_node() -> None:
    """Counted in functions that run, built-in ones included, since times depend on the machine."""
    small, big = (calls_per_node(length) for length in (20, 1000))
    assert big < small < 20


def calls_per_node(length: int) -> float:
    trace = chain(length)
    nodes = len(backward_graph(trace).nodes)
    steps = range(len(trace) // 2, len(trace) // 2 + 100)
    with cProfile.Profile() as profile:
        for at in steps:
            backward_graph(trace, at)
    return sum(entry.callcount for entry in profile.getstats()) / len(steps) / nodes


def test_a_step_that_changes_nothing_gives_the_same_nodes() -> None:
    trace = founding()
    before, after = (backward_graph(trace, step(trace, ev.GuardEntered) + more) for more in (0, 1))
    assert before.wiring is after.wiring
    assert all(before[number] is after[number] for number in before.nodes)


def test_gradients_have_the_shapes_that_results_had_when_their_nodes_were_made() -> None:
    """A convolution resizes its result, ``squeeze_`` changes it later: shapes of ``_input_metadata`` in PyTorch."""
    with dispatchviz.record() as trace:
        x = torch.ones(1, 1, 3, 3, requires_grad=True)
        y = torch.nn.functional.conv2d(x, torch.ones(2, 1, 2, 2))
        z = y.relu().sum((2, 3), keepdim=True)
        z.squeeze_()
        z.sum().backward()
    shapes = {node.title: node.inputs[0].shape for node in backward_graph(trace) if node.inputs[0]}
    assert shapes == {
        "SumBackward0": (),
        "SqueezeBackward3": (2,),
        "SumBackward1": (1, 2, 1, 1),
        "ReluBackward0": (1, 2, 2, 2),
        "ConvolutionBackward0": (1, 2, 2, 2),
        "AccumulateGrad (x)": (1, 1, 3, 3),
    }
