"""Tests of the way from a run of a Node to the call that made it and back, compared with a plain pass over the
events.
"""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.things.crossing import crossing, why_none
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.testing import event
from dispatchviz.trace import Trace
from tests.explain.programs import traced
from tests.steps import inside, line, step

from .traces import SUBJECTS, traces


def made(trace: Trace, call: int) -> list[ev.NodeCreated]:
    """Return the Nodes that were made within a step."""
    found = (trace[at] for at in inside(trace, call))
    return [each for each in found if isinstance(each, ev.NodeCreated) and not each.known]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_run_leads_to_the_call_that_made_its_node(subject: str) -> None:
    runs = 0
    for name, trace in traces(subject):
        for started in (each for each in trace if isinstance(each, ev.NodeStarted)):
            found = crossing(trace, started.seq)
            created = [each for each in trace if isinstance(each, ev.NodeCreated) and each.node == started.node]
            if not created or created[-1].known:
                assert found.seq is None, name
                continue
            assert found.seq is not None
            runs += 1
            (node,) = created
            assert node.sequence_nr == started.sequence_nr
            there = trace[found.seq]
            if isinstance(there, ev.FunctionEntered):
                assert there.node == started.node, name
                continue
            assert node.seq in inside(trace, found.seq), name
            nearer = [each.seq for each in trace.ancestors(node.seq) if isinstance(each, ev.Dispatched)]
            assert not isinstance(there, ev.Dispatched) or found.seq == nearer[0], name
    assert runs > 3 or subject in ("geometry", "setting_memory", "inference", "modes")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_step_within_a_run_leads_to_the_same_call(subject: str) -> None:
    for name, trace in traces(subject):
        for started in (each for each in trace if isinstance(each, ev.NodeStarted)):
            for at in inside(trace, started.seq):
                around = (trace[at], *trace.ancestors(at))
                innermost = next(each for each in around if isinstance(each, ev.NodeStarted | ev.BackwardStarted))
                if innermost is started:
                    assert crossing(trace, at) == crossing(trace, started.seq), (name, at)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_call_leads_to_the_run_of_a_node_that_it_made(subject: str) -> None:
    """The Node is one that the nearest call around made. There is no run exactly if none of its Nodes ever runs."""
    for name, trace in traces(subject):
        ran = {each.node for each in trace if isinstance(each, ev.NodeStarted)}
        backwards = [each.seq for each in trace if isinstance(each, ev.BackwardStarted | ev.NodeStarted)]
        inside_backward = {at for start in backwards for at in inside(trace, start)}
        for call in (each for each in trace if isinstance(each, ev.Dispatched) and each.seq not in inside_backward):
            found, calls = crossing(trace, call.seq), [call, *trace.ancestors(call.seq)]
            nodes: set[int] = set()
            for each in calls:
                if isinstance(each, ev.FunctionEntered) and each.recorded:
                    nodes = nodes or {each.node}
                elif isinstance(each, ev.Dispatched):
                    nodes = nodes or {node.node for node in made(trace, each.seq)}
            if found.seq is None:
                leaves = set(index(trace).accumulators)
                assert not ((nodes - leaves or nodes) & ran), (name, call.seq)
                assert ("does not run" in found.text) == bool(nodes), (name, call.seq)
            else:
                there = trace[found.seq]
                assert isinstance(there, ev.NodeStarted), name
                assert there.node in nodes, (name, call.seq)
                assert there.name.rpartition("::")[2] in found.text


@pytest.mark.parametrize("subject", SUBJECTS)
def test_reason_for_no_node_is_that_of_the_kernel(subject: str) -> None:
    for name, trace in traces(subject):
        for call in (each for each in trace if isinstance(each, ev.Dispatched)):
            if any(isinstance(each, ev.Dispatched | ev.FunctionEntered) for each in trace.ancestors(call.seq)):
                continue
            if made(trace, call.seq):
                continue
            events = [trace[at] for at in inside(trace, call.seq)]
            reasons = {each.why for each in events if isinstance(each, ev.NoNodeMade)}
            said = why_none(trace, call.seq)
            assert all(reason in said for reason in reasons), (name, call.seq)
            if not reasons:
                kernels = [each.kernel for each in events if isinstance(each, ev.KernelEntered)]
                own = [kernel for kernel in kernels if kernel.startswith("VariableType")]
                assert said.endswith(f"{own[0]} makes none" if own else "no autograd kernel ran in it"), (
                    name,
                    call.seq,
                )


PROGRAM = """
import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
with torch.no_grad():
    q = x * 3
unused = x + 1
y.sum().backward()
"""


def test_crossing_leads_there_and_back_or_gives_a_reason() -> None:
    trace = traced(PROGRAM)
    call = step(trace, event(ev.Dispatched, operator="aten::mul.Tensor", how="call"))
    run = step(trace, event(ev.NodeStarted, name="MulBackward0"))
    assert crossing(trace, call).seq == run
    assert crossing(trace, line(trace, 4)).seq == run
    assert crossing(trace, run).seq == call
    assert crossing(trace, run).text == "mul.Tensor made MulBackward0"
    assert crossing(trace, line(trace, 6)).text == "Line 6 made no Node: grad mode is off"
    assert crossing(trace, line(trace, 7)).text == (
        "AddBackward0 does not run in this recording: no backward pass reaches it"
    )
    assert crossing(trace, line(trace, 3)).text.startswith("Line 3 made no Node")
    backward = step(trace, ev.BackwardStarted)
    summed = step(trace, event(ev.Dispatched, operator="aten::sum", how="call"))
    assert crossing(trace, backward).seq == summed, "of the whole pass the root"


def test_call_leads_to_the_next_run_of_its_node() -> None:
    trace = traced("""
    import torch
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    """)
    first, second = (step(trace, event(ev.NodeStarted, name="MulBackward0"), nth) for nth in (0, 1))
    called = step(trace, event(ev.Dispatched, operator="aten::mul.Tensor", how="call"))
    assert crossing(trace, called).seq == first
    assert "one of 2 times" in crossing(trace, called).text
    assert crossing(trace, second).seq == called
