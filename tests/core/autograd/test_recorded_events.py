"""The recorded events of autograd: their kinds, their order and their nesting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.autograd.graph.basic_nodes import DelayedError, UndefinedGrad
from dispatchviz.core.record import events
from dispatchviz.explain.graph.queued_nodes import queue_at

from .leaves import of_kind, record

FORWARD = (
    events.NodeCreated, events.AccumulatorMade, events.EdgesCollected, events.AttributeSaved, events.VariableSaved,
    events.VariableNotSaved, events.NoNodeMade, events.HistorySet, events.HistoryRebased, events.ViewMade,
    events.VersionBumped,
)  # fmt: skip
ENGINE = (
    events.BackwardStarted, events.DependenciesCounted, events.ExecInfoPopulated, events.GradModeChanged,
    events.DependencyMet, events.NodeQueued, events.NodeSkipped, events.NodeStarted, events.FormulaSkipped,
    events.NodeFinished, events.HookRan, events.GradientReduced, events.GradientBuffered, events.GradientAccumulated,
    events.GradientCaptured, events.VariablesReleased, events.BackwardFinished,
)  # fmt: skip


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def kinds(trace: list[Any], of: tuple[type[Any], ...]) -> list[str]:
    return [type(event).__name__ for event in trace if isinstance(event, of)]


def test_building_a_node_has_these_events() -> None:
    x, y = leaf(1.0), torch.tensor([2.0])
    trace = record(lambda: torch.add(x, y))
    assert kinds(trace, FORWARD) == [
        "NodeCreated", "NodeCreated", "AccumulatorMade", "EdgesCollected", "AttributeSaved", "HistorySet",
    ]  # fmt: skip
    (edges,) = of_kind(trace, events.EdgesCollected)
    assert (edges.edges, edges.inputs, edges.topological_nr) == (((1, 0), None), (("self", 0), ("other", 1)), 1)


def test_saved_and_unsaved_variables_are_recorded() -> None:
    x, y = leaf(1.0), torch.tensor([2.0])
    trace = record(lambda: x * y)
    saved = [event for event in trace if isinstance(event, (events.VariableSaved, events.VariableNotSaved))]
    assert [(type(event).__name__, event.name) for event in saved] == [
        ("VariableSaved", "other"),
        ("VariableNotSaved", "self"),
    ]


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (lambda x: torch.no_grad()(lambda: x * x)(), "grad mode is off"),
        (lambda x: x.detach() * 1.5, "no input requires grad"),
        (lambda x: torch.gt(x, 0), "never differentiable"),
    ],
)
def test_reason_for_no_node_is_recorded(run: Callable[[Any], Any], why: str) -> None:
    x = leaf(1.0)
    reasons = [event.why for event in record(lambda: run(x)) if isinstance(event, events.NoNodeMade)]
    assert reasons[-1] == why


def test_backward_has_these_events() -> None:
    x = leaf(1.0, 2.0)
    y = x * torch.tensor([3.0, 4.0])
    gradient = torch.ones(2)
    trace = record(lambda: y.backward(gradient))
    assert kinds(trace, ENGINE) == [
        "BackwardStarted", "DependenciesCounted", "GradientBuffered", "NodeQueued", "GradModeChanged", "NodeStarted",
        "VariablesReleased", "NodeFinished", "DependencyMet", "GradientBuffered", "NodeQueued", "NodeStarted",
        "GradientAccumulated", "NodeFinished", "GradModeChanged", "BackwardFinished",
    ]  # fmt: skip


def test_nodes_and_backward_have_these_children() -> None:
    x = leaf(1.0, 2.0)
    y = x.exp()
    gradient = torch.ones(2)
    trace = record(lambda: y.backward(gradient))
    (start,) = of_kind(trace, events.BackwardStarted)
    first, second = of_kind(trace, events.NodeStarted)
    assert (first.parent, second.parent, start.parent) == (start.seq, start.seq, None)
    assert (first.name, second.name) == ("ExpBackward0", "torch::autograd::AccumulateGrad")
    (product,) = [e for e in trace if isinstance(e, events.Dispatched) and e.parent == first.seq]
    assert product.operator == "aten::mul.Tensor"
    arrived = of_kind(trace, events.DependencyMet)
    assert [event.parent for event in arrived] == [start.seq]
    finished = of_kind(trace, events.NodeFinished)
    assert [event.parent for event in finished] == [first.seq, second.seq]


def test_other_ready_nodes_are_recorded() -> None:
    x, y = leaf(1.0), leaf(1.0)
    z = x.exp() * y.exp()
    gradient = torch.ones(1)
    with dispatchviz.record() as trace:
        z.backward(gradient)
    started = of_kind(trace, events.NodeStarted)
    assert {event.waiting for event in started} == {None}
    assert [len(list(queue_at(trace, event))) for event in started] == [0, 1, 1, 0, 0]


def test_reduced_and_captured_gradients_are_recorded() -> None:
    x, w = torch.ones(2, 2, requires_grad=True), leaf(1.0, 2.0)
    z = (x * w).sum()
    trace = record(lambda: torch.autograd.grad(z, w))
    (reduced,) = of_kind(trace, events.GradientReduced)
    (captured,) = of_kind(trace, events.GradientCaptured)
    assert reduced.shape == (2,)
    assert (captured.tensor, captured.position) == (reduced.after, 0)


def product() -> tuple[Any, Any, Any]:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    return a, b, (a * b).sum()


def names(trace: list[Any]) -> dict[int, str]:
    """The names of the Nodes. An AccumulateGrad has the place of its leaf among the operands."""
    made = {event.node: event.name for event in trace if isinstance(event, events.NodeCreated)}
    edges = next(event.edges for event in trace if isinstance(event, events.EdgesCollected) and len(event.edges) == 2)
    return made | {edge[0]: f"leaf {place}" for place, edge in enumerate(edges)}


def test_requested_inputs_and_pruned_nodes_are_recorded() -> None:
    def run() -> None:
        _, b, out = product()
        out.backward(inputs=[b])

    trace = record(run)
    known = names(trace)
    (start,) = of_kind(trace, events.BackwardStarted)
    assert [(known[node], nr) for node, nr in start.inputs] == [("leaf 1", 0)]
    assert len(start.input_tensors) == 1
    (info,) = of_kind(trace, events.ExecInfoPopulated)
    assert {known[node] for node in info.needed} == {"SumBackward0", "MulBackward0", "leaf 1"}
    assert (info.captures, [(known[node], why) for node, why in info.pruned]) == ((), [("leaf 0", "should_execute")])
    assert [(known[e.node], e.edge) for e in of_kind(trace, events.FormulaSkipped)] == [("MulBackward0", 0)]
    met = [(known[e.node], e.left, e.defined, e.skipped) for e in of_kind(trace, events.DependencyMet)]
    assert met == [("MulBackward0", 0, True, False), ("leaf 0", 0, False, True), ("leaf 1", 0, True, False)]
    assert "leaf 0" not in {known[event.node] for event in of_kind(trace, events.NodeQueued)}
    assert [known[event.node] for event in of_kind(trace, events.NodeStarted)] == [
        "SumBackward0",
        "MulBackward0",
        "leaf 1",
    ]


def test_a_node_that_is_only_captured_is_queued_and_does_not_run() -> None:
    def run() -> None:
        a, _, out = product()
        torch.autograd.grad(out, a)

    trace = record(run)
    known = names(trace)
    (info,) = of_kind(trace, events.ExecInfoPopulated)
    assert [(known[node], nr, place) for node, nr, place in info.captures] == [("leaf 0", 0, 0)]
    assert {known[node] for node in info.needed} == {"SumBackward0", "MulBackward0"}
    of_leaf = [type(e).__name__ for e in trace if getattr(e, "node", None) in known and known[e.node] == "leaf 0"]
    run = ["DependencyMet", "GradientBuffered", "NodeQueued", "GradientCaptured", "NodeSkipped"]
    assert of_leaf[-6:] == [*run, "NodeDeleted"]


def test_small_topological_number_prunes_the_nodes_behind_it() -> None:
    def run() -> None:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        y = x.exp().sin().cos()
        (y * w.exp()).sum().backward(inputs=[y])

    trace = record(run)
    made = {event.node: event.name for event in trace if isinstance(event, events.NodeCreated)}
    (info,) = of_kind(trace, events.ExecInfoPopulated)
    (counted,) = of_kind(trace, events.DependenciesCounted)
    assert counted.min_topo_nr == 3
    assert {(made[node], why) for node, why in info.pruned} == {
        ("SinBackward0", "topological_nr"),
        ("ExpBackward0", "topological_nr"),
    }
    assert {made[node] for node, _ in counted.counts} == {
        "MulBackward0",
        "CosBackward0",
        "SinBackward0",
        "ExpBackward0",
    }


def test_input_outside_of_the_graph_prunes_the_root() -> None:
    def run() -> None:
        x, y = leaf(1.0), leaf(2.0)
        kept = y.exp()
        x.sin().backward(inputs=[y])
        del kept

    trace = record(run)
    assert [type(event).__name__ for event in trace if isinstance(event, ENGINE)] == [
        "BackwardStarted", "DependenciesCounted", "ExecInfoPopulated", "GradientBuffered", "NodeQueued",
        "GradModeChanged", "NodeSkipped", "GradModeChanged", "BackwardFinished",
    ]  # fmt: skip
    assert of_kind(trace, events.NodeStarted) == []


def test_skipped_formula_is_recorded_once() -> None:
    def run() -> None:
        a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
        torch.atan2(a, b).sum().backward(inputs=[b])

    assert len(of_kind(record(run), events.FormulaSkipped)) == 1


def test_hooks_are_recorded_with_their_names() -> None:
    x = leaf(1.0)
    y = x * 2.0

    def double(grad: Any) -> Any:
        return grad * 2.0

    y.register_hook(double)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda grads: None)
    gradient = torch.ones(1)
    trace = record(lambda: y.backward(gradient))
    hooks = [(e.kind, e.function, e.replaced) for e in trace if isinstance(e, events.HookRan)]
    assert hooks == [
        ("tensor pre hook", "double", True),
        ("retains-grad hook", "retain_grad", False),
        ("pre hook", "<lambda>", False),
    ]


def test_write_through_a_view_has_these_events() -> None:
    x = leaf(1.0, 2.0)
    base = x * 1.0
    view = base.view(2, 1)
    trace = record(lambda: view.add_(1.0))
    recorded = [event for event in trace if isinstance(event, (events.NodeCreated, events.HistoryRebased))]
    made = [event.name for event in recorded if isinstance(event, events.NodeCreated)]
    assert [name for name in made if name not in ("MulBackward0", "ViewBackward0")] == [  # those were made before
        "AddBackward0",
        "torch::autograd::CopySlices",
        "AsStridedBackward0",
    ]
    edges = {event.node: event.edges for event in trace if isinstance(event, events.EdgesCollected)}
    rebased = [(event.tensor, event.node) for event in recorded if isinstance(event, events.HistoryRebased)]
    (base_number, copy_slices), (view_number, as_strided) = rebased
    assert base_number != view_number
    assert edges[as_strided] == ((copy_slices, 0),)
    assert len(edges[copy_slices]) == 2
    assert kinds(trace, (events.VersionBumped,)) == ["VersionBumped"]


def test_error_is_recorded_at_its_start_and_closes_open_events() -> None:
    x = leaf(1.0)
    y = x * x
    y.backward(torch.ones(1))
    gradient = torch.ones(1)

    def fail_then_go_on() -> None:
        with pytest.raises(RuntimeError):
            y.backward(gradient)
        x.detach()

    trace = record(fail_then_go_on)
    (error,) = of_kind(trace, events.ErrorRaised)
    inside = trace[error.parent]
    assert isinstance(inside, events.NodeStarted)
    assert inside.name == "MulBackward0"
    assert error.message.startswith("Trying to backward through the graph a second time")
    after = [e for e in trace[error.seq :] if isinstance(e, (events.BindingEntered, events.Dispatched))]
    assert after[0].parent is None
    assert thread_is_clean()


def thread_is_clean() -> bool:
    from dispatchviz.core.thread.thread_state import thread

    return thread.state.graph_task is None and torch.is_grad_enabled()


def test_two_recordings_of_one_program_are_equal() -> None:
    def program() -> None:
        x = leaf(1.0, 2.0)
        (x.exp() * x).sum().backward()

    first, second = record(program), record(program)
    numbers = ("sequence_nr", "queue", "waiting", "graph_task")
    for one, other in zip(first, second, strict=True):
        names = [name for name in one.__struct_fields__ if name not in numbers]
        assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]


def test_only_a_changed_geometry_is_recorded() -> None:
    x = torch.ones(2, 3)
    trace = record(lambda: (x.t_(), x.resize_(4), x.resize_(4)))
    recorded = [(event.shape, event.stride) for event in trace if isinstance(event, events.GeometryChanged)]
    assert recorded == [((3, 2), (1, 3)), ((4,), (1,))]


@pytest.mark.parametrize("name", ["DelayedError", "UndefinedGrad"])
def test_a_tensor_is_introduced_before_it_gets_a_history(name: str) -> None:
    x = leaf(1.0)
    node = DelayedError("", 1) if name == "DelayedError" else UndefinedGrad()
    trace = record(lambda: node.apply([x]))
    history = of_kind(trace, events.HistorySet)[-1]
    assert history.tensor in [event.tensor for event in of_kind(trace[: history.seq], events.TensorCreated)]
