"""The engine pane beside counts: exec_info, needed edges, queues per device, and the origin of gradients."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.engine.arrivals import arrivals
from dispatchviz.explain.graph.engine.exec_info import VERDICTS, exec_info_at
from dispatchviz.explain.graph.engine.graph_task import final_callbacks
from dispatchviz.explain.graph.engine.needed_edges import needed_edges
from dispatchviz.explain.graph.engine.node_streams import node_streams
from dispatchviz.explain.graph.engine.pass_stack import elsewhere, open_passes
from dispatchviz.explain.graph.engine.ready_queues import ready_queues
from dispatchviz.explain.graph.graph_history import backward_around
from dispatchviz.testing import event
from dispatchviz.trace import Trace
from tests.explain.test_engine_state import TWO_THREADS
from tests.explain.test_graph_task import recorded
from tests.steps import step
from truth import programs

LEAVES = "import torch\nx = torch.ones(2, requires_grad=True)\ny = torch.ones(2, requires_grad=True)\n"


def name_of(trace: Trace, node: int | None) -> str:
    made = (each for each in trace if isinstance(each, ev.NodeCreated) and each.node == node)
    return next((each.name.rpartition("::")[2] for each in made), "")


def test_nodes_below_the_minimum_are_skipped_by_one_comparison() -> None:
    trace = recorded(LEAVES + "a = x.exp()\nb = a.sin()\ntorch.autograd.grad((b * y).sum(), b)\n")
    assert exec_info_at(trace, step(trace, ev.BackwardStarted)) is None
    table = exec_info_at(trace, step(trace, ev.ExecInfoPopulated))
    assert table is not None
    shown = {verdict: [*table.entries(trace, verdict, 9)] for verdict in VERDICTS}
    names = {verdict: [name_of(trace, each.node) for each in of] for verdict, of in shown.items()}
    assert names["captured"] == ["SinBackward0"]
    assert names["leads on"] == ["SumBackward0", "MulBackward0"]
    assert names["topological_nr"] == ["AccumulateGrad", "ExpBackward0"]
    assert (table.min_topo_nr, [each.topological_nr for each in shown["topological_nr"]]) == (2, [0, 1])
    assert shown["captured"][0].captures == ((0, 0),)
    assert [each.should_execute for each in shown["topological_nr"]] == [False, False]
    assert table.unvisited == 1  # the leaf x behind ExpBackward0


def test_nothing_behind_a_node_below_the_minimum_is_visited() -> None:
    trace = recorded(LEAVES + "long = y.exp().sin()\na = x.exp().sin().cos().tan()\n"
                     "torch.autograd.grad((a + long).sum(), a)\n")  # fmt: skip
    table = exec_info_at(trace, step(trace, ev.ExecInfoPopulated))
    assert table is not None
    assert [name_of(trace, node) for node in table.nodes["topological_nr"]] == ["SinBackward0", "CosBackward0"]
    assert table.unvisited == 5  # two Nodes and a leaf behind the first, and so on


def test_the_edges_that_a_pass_needs() -> None:
    trace = recorded(LEAVES + "z = (x * y).sum()\nz.backward(inputs=[y])\n")
    node = trace[step(trace, event(ev.NodeStarted, name="MulBackward0"))]
    assert isinstance(node, ev.NodeStarted)
    edges = needed_edges(trace, node, trace.ends[node.seq])
    assert [(edge.argument, edge.computes, edge.why) for edge in edges] == [
        ("self", False, "should_execute() is false"), ("other", True, "needed_")
    ]  # fmt: skip
    assert isinstance(trace[edges[0].skipped or 0], ev.FormulaSkipped)
    trace = recorded(LEAVES + "(x * 2).sum().backward()\n")
    node = trace[step(trace, event(ev.NodeStarted, name="MulBackward0"))]
    assert isinstance(node, ev.NodeStarted)
    assert [(edge.computes, edge.why) for edge in needed_edges(trace, node, node.seq)] == [
        (True, "exec_info_ is empty"), (False, "empty edge")
    ]  # fmt: skip


def test_each_device_has_a_queue_and_meta_tensors_wait_in_that_of_the_cpu() -> None:
    trace = recorded("import torch\nx = torch.ones(2, requires_grad=True)\n"
                     "z = x.exp() + (x.cuda() * 2).cpu() + x.sin()\nz.sum().backward()\n")  # fmt: skip
    at = step(trace, event(ev.NodeStarted, device="cuda:0"))
    cpu, cuda = ready_queues(trace, at, 9)
    assert (cpu.device, cpu.thread, cuda.device, cuda.thread) == ("cpu", "caller", "cuda:0", "pt_autograd_0")
    assert [name_of(trace, turn.queued.node) for turn in cpu.turns] == ["ExpBackward0"]
    trace = recorded('import torch\nx = torch.ones(2, device="meta", requires_grad=True)\n(x * 2).sum().backward()\n')
    for at in (*trace.steps_of(ev.NodeQueued), *trace.steps_of(ev.NodeStarted)):
        assert [queue.device for queue in ready_queues(trace, at, 9)] == ["cpu"]


def test_queue_names_the_reason_for_its_order() -> None:
    trace = recorded(LEAVES + "(x.exp() + y.sin()).sum().backward()\n")
    at = step(trace, event(ev.NodeStarted, name="SinBackward0")) - 1
    (queue,) = ready_queues(trace, at, 9)
    assert [(name_of(trace, turn.queued.node), turn.decided) for turn in queue.turns] == [
        ("SinBackward0", "sequence_nr"), ("ExpBackward0", "last")
    ]  # fmt: skip
    trace = recorded(LEAVES + "torch.stack([x, y]).sum().backward()\n")
    both = trace.steps_of(ev.NodeQueued)[-1]
    (queue,) = ready_queues(trace, both, 9)
    assert [turn.decided for turn in queue.turns] == ["equal", "last"]


@pytest.mark.parametrize("subject", ["engine", "hooks", "derivatives"])
def test_a_gradient_came_from_the_node_that_returned_it(subject: str) -> None:
    """Compare with the edges: a gradient arrives at the input that an edge of its Node leads to."""
    compared = 0
    for source in list(programs.SUBJECTS[subject].values())[::3]:
        trace = recorded(source)
        for at in trace.steps_of(ev.GradientBuffered):
            buffered, backward = trace[at], backward_around(trace, at)
            assert isinstance(buffered, ev.GradientBuffered)
            assert backward is not None
            came = arrivals(trace, backward, buffered.node, at)[buffered.input_nr][-1]
            assert came.buffered.seq == at
            if came.source is None:
                assert (buffered.node, buffered.input_nr) in backward.event.roots
                continue
            made = [each for each in trace if isinstance(each, ev.EdgesCollected) and each.node == came.source]
            assert not made or made[-1].edges[came.edge or 0] == (buffered.node, buffered.input_nr)
            compared += bool(made)
    assert compared > 20


NESTED = """\
import torch
x = torch.ones(2, requires_grad=True)
def inner(grad):
    with torch.enable_grad():
        torch.autograd.grad((x * x).sum(), x)
y = x * 2
y.register_hook(inner)
y.sum().backward()
"""


def test_a_pass_within_a_node_knows_what_is_around_it() -> None:
    trace = recorded(NESTED)
    outer, inner = open_passes(trace, trace.steps_of(ev.BackwardStarted)[1])
    assert (outer.within, inner.within and inner.within.name) == (None, "MulBackward0")
    assert (outer.started.depth, inner.started.depth, inner.owner, inner.pool_thread) == (0, 1, -1, 0)
    assert len(open_passes(trace, trace.ends[inner.started.seq] + 1)) == 1
    assert open_passes(trace, 0) == []


def test_backward_shows_passes_of_other_threads() -> None:
    trace = recorded(TWO_THREADS)
    starts = list(trace.steps_of(ev.BackwardStarted))
    assert [event.seq for event in elsewhere(trace, starts[0])] == []
    assert [event.seq for event in elsewhere(trace, starts[1])] == starts[:1]
    assert [event.seq for event in elsewhere(trace, trace.ends[starts[0]] - 1)] in ([], starts[1:])


def test_final_callbacks_as_of_a_step() -> None:
    trace = recorded("import torch\nqueue = torch.autograd.Variable._execution_engine.queue_callback\n"
                     "x = torch.ones(2, requires_grad=True)\nx.register_hook(lambda grad: queue(print))\n"
                     "(x * 2).sum().backward()\n")  # fmt: skip
    queued, called = step(trace, ev.FinalCallbackQueued), step(trace, ev.FinalCallbackCalled)
    backward = backward_around(trace, called)
    assert backward is not None
    assert final_callbacks(trace, backward, queued - 1) == []
    (before,), (after,) = (final_callbacks(trace, backward, at) for at in (called - 1, called))
    assert (before.function, before.queued, before.called, after.called) == ("print", queued, None, called)


def test_the_stream_of_a_node_is_that_of_its_forward() -> None:
    trace = recorded("""\
import torch, warnings
warnings.simplefilter("ignore")
x = torch.ones(2, device="cuda", requires_grad=True)
a = x * 2
with torch.cuda.stream(torch.cuda.Stream()):
    b = x.exp()
(a + b).sum().backward()
""")
    found = {}
    for at in trace.steps_of(ev.NodeStarted):
        node, backward = trace[at], backward_around(trace, at)
        assert isinstance(node, ev.NodeStarted)
        assert backward is not None
        found[node.name] = node_streams(trace, backward, node, at, 9)
    assert found["MulBackward0"].current == 0
    assert found["ExpBackward0"].current == 1
    assert [waited.stream for waited in found["ExpBackward0"].waits] == [1]
    assert found["ExpBackward0"].number < found["torch::autograd::AccumulateGrad"].number
