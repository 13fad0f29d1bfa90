"""The card of a Node says what the model's live objects have, at the end of many programs; hooks run in its order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.seam import recorder
from dispatchviz.explain.graph.graph_node import NO_NUMBER
from dispatchviz.explain.graph.node.node_card import Fact, needs_edge, node_card
from dispatchviz.explain.graph.node.node_hooks import ORDER, hooks_of
from dispatchviz.explain.graph.node.node_of_step import node_of_step
from dispatchviz.explain.things.thing import NodeThing
from dispatchviz.foundation.english import plain_dtype, shaped
from truth import programs
from truth.observers.runs import Run, in_new_thread

SUBJECTS = ["hooks", "engine", "autograd", "in_place", "anomaly", "functions", "views"]


def facts(trace: Trace, node: int, at: int) -> dict[str, Fact]:
    return {fact.name: fact for section in node_card(trace, node, at) for fact in section.facts}


def recorded(source: str) -> tuple[Trace, list[Any]]:
    """The trace of a program, and the Nodes that are reachable from its variables, by their number in it."""

    def record() -> tuple[Trace, list[Any]]:
        with dispatchviz.record() as trace:
            run = Run(model, source)
            run.whole()
            first = recorder.active.first_node  # type: ignore[union-attr]
        return trace, [(node._number - first, node) for node in _reachable(list(run.tensors.values()))]

    found: tuple[Trace, list[Any]] = in_new_thread(record)
    return found


def _reachable(tensors: list[Any]) -> Iterator[Any]:
    waiting = [tensor._grad_fn for tensor in tensors if tensor._grad_fn is not None]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += [edge.function for edge in node.next_edges if edge.function is not None]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_card_has_what_the_node_has(subject: str) -> None:
    compared = 0
    for name, source in list(programs.SUBJECTS[subject].items())[::3]:
        trace, live = recorded(source)
        for number, node in live:
            if number >= 0 and node.cpp_name != "torch::autograd::GraphRoot":
                _compare(trace, number, node, name)
                compared += 1
    assert compared > 0


def _compare(trace: Trace, number: int, node: Any, name: str) -> None:
    at = len(trace) - 1
    card = facts(trace, number, at)
    assert card["sequence_nr"].value == str(node.sequence_nr), name
    assert card["topological_nr"].value == str(node._topological_nr), name
    assert card["thread_id"].value == str(node.thread_id), name
    assert card["has_parent_"].value == str(node._has_parent).lower(), (name, node)
    assert card["num_outputs"].value == str(len(node.next_edges)), name
    assert card["num_inputs"].value == str(len(node.input_metadata)), (name, node)
    assert card["release_resources"].value == "not called yet", name
    for place, edge in enumerate(node.next_edges):
        assert card[f"should_compute_output({place})"].value == str(edge.function is not None), name
    for place, entry in enumerate(node.input_metadata):
        told = card.get(f"input_metadata({place})")
        if told is not None and told.about is not None:
            expected = f"{shaped(entry.size)} {plain_dtype(str(entry.dtype))} {entry.device}"
            assert told.value.removesuffix(", is_tensor_subclass") == expected, (name, node)
        assert (told is not None and told.value == "was_default_constructed") == entry.is_undefined, (name, node)
    assert (card["AnomalyMetadata"].value == "traceback_") == ("traceback_" in (node._metadata or {})), name
    parent = (node._metadata or {}).get("parent_")
    assert ("parent" in card) == (parent is not None), name
    _compare_hooks(trace, number, node, name)


def _compare_hooks(trace: Trace, number: int, node: Any, name: str) -> None:
    leaf = getattr(node, "variable", None)
    own = [event for event in trace if isinstance(event, ev.AccumulatorMade) and event.node == number]
    there = hooks_of(trace, number, own[-1].tensor if own else None, len(trace))
    told = [(hook.kind, hook.function) for hook in there]
    hooks = node.hooks
    expected = [("tensor pre hook", _name(one)) for each in node.tensor_pre_hooks() for one in each.hooks.values()]
    if hooks is not None:
        expected += [("retains-grad hook", "retain_grad")] * len(hooks.retains_grad)
        expected += [("pre hook", _name(one)) for one in (hooks.pre or {}).values()]
    if leaf is not None and leaf._hooks is not None:
        expected += [("post-accumulate hook", _name(one)) for one in (leaf._hooks.post_accumulate or {}).values()]
    if hooks is not None:
        expected += [("post hook", _name(one)) for one in (hooks.post or {}).values()]
    assert told == expected, (name, node)


def _name(hook: Any) -> str:
    return str(getattr(hook, "__name__", "<unknown>"))


HOOKS = """\
import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
y.grad_fn.register_hook(lambda i, o: None)
y.grad_fn.register_prehook(lambda o: None)
y.retain_grad()
y.register_hook(lambda g: None)
y.sum().backward(retain_graph=True)
torch.autograd.grad(y.sum(), y)
"""


def test_hooks_run_in_the_order_of_the_card() -> None:
    trace, _ = recorded(HOOKS)
    node = next(event.node for event in trace if isinstance(event, ev.HookRegistered) and event.node is not None)
    told = [hook.kind for hook in hooks_of(trace, node, None, len(trace))]
    ran = [event.kind for event in trace if isinstance(event, ev.HookRan)]
    assert told == sorted(told, key=ORDER.index)
    assert ran[: len(told)] == told
    assert ran[len(told) :] == ["tensor pre hook", "retains-grad hook"]  # the Node does not run


def test_card_shows_what_a_graph_task_needs() -> None:
    source = "import torch\na = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
    trace, _ = recorded(source + "c = (a * b).sum()\ntorch.autograd.grad(c, a, retain_graph=True)\nc.backward()\n")
    starts = [e for e in trace if isinstance(e, ev.NodeStarted) and e.name == "MulBackward0"]
    edges = next(e for e in trace if isinstance(e, ev.EdgesCollected) and e.node == starts[0].node).edges
    asked = [[needs_edge(trace, edge[0], start.seq) for edge in edges if edge] for start in starts]
    assert asked == [[True, False], [True, True]]


def test_the_node_of_a_step() -> None:
    trace, _ = recorded(HOOKS)
    made = next(event for event in trace if isinstance(event, ev.NodeCreated))
    assert node_of_step(trace, made.seq) == made.node
    assert node_of_step(trace, 0) is None
    accumulate = next(e for e in trace if isinstance(e, ev.NodeCreated) and e.sequence_nr == NO_NUMBER)
    assert facts(trace, accumulate.node, accumulate.seq)["next_edges"].value == "none"
    assert facts(trace, accumulate.node, len(trace) - 1)["variable"].value == "t0"  # as it is called without a name
    for event in trace:
        around = None if event.parent is None else trace[event.parent]
        if isinstance(around, ev.GuardEntered) and around.parent is not None and isinstance(event, ev.Dispatched):
            nodes = [e.node for e in trace.children(around.parent) if isinstance(e, ev.NodeCreated)]
            assert not nodes or node_of_step(trace, event.seq) == nodes[0]
        if isinstance(around, ev.NodeStarted) and isinstance(event, ev.Dispatched):
            assert node_of_step(trace, event.seq) == around.node


def test_a_plain_value_is_not_set_before_its_step() -> None:
    trace, _ = recorded("import torch\nx = torch.ones(2, requires_grad=True)\ny = torch.add(x, x, alpha=3)\n")
    made = next(event for event in trace if isinstance(event, ev.NodeCreated) and event.name == "AddBackward0")
    names = ("alpha", "self_scalar_type", "other_scalar_type")
    assert [facts(trace, made.node, made.seq)[name].value for name in names] == ["not set yet"] * 3
    assert [facts(trace, made.node, len(trace) - 1)[name].value for name in names] == ["3", "float32", "float32"]


def test_a_node_that_is_freed_says_so_and_with_which_other() -> None:
    trace, _ = recorded("import torch\nx = torch.ones(2, requires_grad=True)\ny = x.exp().sin()\ndel y\nz = x * 2\n")
    exp, sin = (event.node for event in trace if isinstance(event, ev.NodeCreated) and event.name[:3] in ("Exp", "Sin"))
    ends = {event.node: event.seq for event in trace if isinstance(event, ev.NodeDeleted)}
    assert facts(trace, sin, ends[sin] - 1)["release_resources"].value == "not called yet"
    assert facts(trace, sin, ends[sin])["release_resources"].value == "the Node is freed"
    told = facts(trace, exp, ends[exp])["release_resources"]
    assert (told.value, told.about) == ("the Node is freed, with SinBackward0", NodeThing(sin))


def test_unsaved_variable_has_its_reason() -> None:
    trace, _ = recorded("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n")
    node = next(event.node for event in trace if isinstance(event, ev.NodeCreated) and event.name == "MulBackward0")
    told = facts(trace, node, len(trace) - 1)["SavedVariable self"]
    assert told.value == "empty: not saved"
    assert told.purpose == "only the formula of edge 1 needs it, and that edge is empty"
    assert "SavedVariable self" not in facts(trace, node, trace.steps_of(ev.NodeCreated)[0])


def test_has_parent_as_of_a_step() -> None:
    trace, _ = recorded(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x.exp()\nz = y.sin()\nz.sum().backward()\n"
    )
    nodes = {event.name: event for event in trace if isinstance(event, ev.NodeCreated)}
    exp, root = nodes["ExpBackward0"], nodes["SumBackward0"]
    edges = {event.node: event.seq for event in trace if isinstance(event, ev.EdgesCollected)}
    parent = edges[nodes["SinBackward0"].node]
    assert [facts(trace, exp.node, at)["has_parent_"].value for at in (parent - 1, parent)] == ["false", "true"]
    counted = next(event.seq for event in trace if isinstance(event, ev.DependenciesCounted))
    assert [facts(trace, root.node, at)["has_parent_"].value for at in (counted - 1, counted)] == ["false", "true"]
