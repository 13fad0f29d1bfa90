"""Nodes that a backward pass does not need: in sentences, in the list, in the graph and in the picture.

``tests/claims`` checks that PyTorch does not run them either.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.graph.graph_node import State
from dispatchviz.explain.kinds.all_kinds import label, statements, why_here
from dispatchviz.outputs.picture.dot import drawing
from dispatchviz.views.panes.lanes import lanes


def backward_of_b() -> Trace:
    with dispatchviz.record() as trace:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        out = (a * b).sum()
        out.backward(inputs=[b])
    return trace


def grad_of_a() -> Trace:
    with dispatchviz.record() as trace:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        out = (a * b).sum()
        torch.autograd.grad(out, a)
    return trace


def behind_an_interior() -> Trace:
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        y = x.exp().sin().cos()
        y.sum().backward(inputs=[y], retain_graph=True)
        y.sum().backward()
    return trace


def said(trace: Trace, kind: type[ev.Event]) -> list[str]:
    return [why_here(trace, event.seq) for event in trace if isinstance(event, kind)]


def states(trace: Trace, of: int | None = None) -> dict[str, State]:
    return {node.title: node.state for node in backward_graph(trace, of=of)}


@pytest.mark.parametrize("program", [backward_of_b, grad_of_a])
def test_pruned_node_is_never_called_ready(program: Callable[[], Trace]) -> None:
    trace = program()
    ran = {event.node for event in trace if isinstance(event, ev.NodeStarted)}
    others = [
        e for e in trace if getattr(e, "node", None) not in ran and isinstance(e, ev.DependencyMet | ev.NodeQueued)
    ]
    assert others
    for event in others:
        assert "ready" not in why_here(trace, event.seq) + label(trace, event.seq)


def test_a_node_is_reached_for_its_gradient_alone() -> None:
    trace = grad_of_a()
    assert said(trace, ev.NodeSkipped) == [
        ("AccumulateGrad (a) does not run, because grad() requests only the gradient that arrived there.")
    ]
    queued = [label(trace, event.seq) for event in trace if isinstance(event, ev.NodeQueued)]
    assert queued[-1] == "AccumulateGrad (a) is queued to be captured"


def test_states_of_pruned_nodes() -> None:
    assert states(backward_of_b())["AccumulateGrad (a)"] is State.PRUNED
    found = states(grad_of_a())
    assert (found["AccumulateGrad (a)"], found["AccumulateGrad (b)"]) == (State.CAPTURED, State.PRUNED)


def test_nodes_behind_a_pruned_node_are_pruned_until_needed() -> None:
    trace = behind_an_interior()
    first = states(trace, of=0)
    assert [first[name] for name in ("SinBackward0", "ExpBackward0", "AccumulateGrad (x)")] == [State.PRUNED] * 3
    assert State.PRUNED not in states(trace, of=1).values()


def test_the_lanes_show_it() -> None:
    rows = "\n".join(row.text for row in lanes(backward_graph(backward_of_b())))
    assert "◌ │ AccumulateGrad (a)  not needed" in rows
    assert "edges 0 self=a (not needed), 1 other=b" in rows


def test_the_picture_shows_it() -> None:
    drawn = drawing(backward_graph(backward_of_b()))
    assert "backward(inputs=) requested b: Nodes that do not lead there are not needed" in drawn.texts
    assert "not needed" in drawn.texts
    assert drawn.source.count("class=unused") == 1
    assert (
        "grad() requested a: Nodes that do not lead there are not needed" in drawing(backward_graph(grad_of_a())).texts
    )


def test_an_input_that_no_edge_leads_to() -> None:
    with dispatchviz.record() as trace:
        x, far = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        torch.autograd.grad(x.exp().sum(), [x, far], allow_unused=True)
    (needed,) = said(trace, ev.ExecInfoPopulated)
    assert needed.endswith(
        "No path leads to far, so the gradient there is undefined. Depending on allow_unused and materialize_grads, "
        "grad() returns None or zeros, or raises an error."
    )


def test_undefined_gradients_are_named_undefined() -> None:
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> None:
            return None

    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        y.retain_grad()
        Nothing.apply(y).sum().backward()
    met = said(trace, ev.DependencyMet)
    assert met[1].startswith(
        "The only gradient that ExpBackward0 waits for has arrived (undefined, which counts as well)"
    )
    (retained,) = said(trace, ev.HookRan)
    assert retained.endswith("is undefined or the tensor no longer exists.")


def test_claims_match_the_nodes_that_run() -> None:
    trace = grad_of_a()
    claims = [claim for event in trace for said in statements(trace, event.seq) for claim in said.claims]
    runs = {(claim.node, claim.runs) for claim in claims if type(claim).__name__ == "NodeRuns"}
    ran = {event.node for event in trace if isinstance(event, ev.NodeStarted)}
    assert {node for node, yes in runs if yes} == ran
    assert ran.isdisjoint(node for node, yes in runs if not yes)
    assert len({node for node, yes in runs if not yes}) == 2


def test_a_saved_tensor_that_is_freed_is_shown_as_freed_in_a_second_backward() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        y = x.exp().sum()
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
    (exp,) = [node for node in backward_graph(trace) if node.name == "ExpBackward0"]
    assert exp.released
    assert exp.state is not State.RELEASED
