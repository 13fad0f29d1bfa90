"""The engine by itself: what runs, in which order, and what it leaves behind. Nodes are fakes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from dispatchviz.core.autograd.engine.engine import execute
from dispatchviz.core.autograd.engine.graph_task import current_graph_task_id, queue_callback
from dispatchviz.core.autograd.graph.basic_nodes import Error
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.thread.guards import AutoGradMode, ExcludeDispatchKeyGuard
from dispatchviz.core.thread.thread_state import thread

from .fake_nodes import FakeNode, run


class Calling(FakeNode):
    """Calls a function when it runs."""

    __slots__ = ("function",)

    def apply(self, grads: Gradients) -> Gradients:
        self.function()  # type: ignore[attr-defined]
        return super().apply(grads)


def calling(log: list[str], function: object, targets: Sequence[Node | None] = (), label: str = "calling") -> Calling:
    node = Calling(label, log, targets)
    node.function = function  # type: ignore[attr-defined]
    return node


def random_graph(seed: int, log: list[str]) -> tuple[list[FakeNode], random.Random]:
    """Nodes with distinct random priorities; every node but the first leads to some earlier ones."""
    rng = random.Random(seed)
    size = rng.randint(2, 25)
    numbers = rng.sample(range(1000), size)
    nodes: list[FakeNode] = []
    for i, number in enumerate(numbers):
        targets = rng.choices([*nodes, None], k=rng.randint(1, 3)) if nodes else []
        nodes.append(FakeNode(str(i), log, targets, number))
    return nodes, rng


def below(roots: Sequence[Node]) -> dict[Node, int]:
    """Every node that can be reached, with the number of edges that lead to it."""
    counts: dict[Node, int] = dict.fromkeys(roots, 0)
    stack = list(counts)
    while stack:
        for target in [edge.function for edge in stack.pop().next_edges]:
            if target is not None:
                if target not in counts:
                    counts[target] = 0
                    stack.append(target)
                counts[target] += 1
    return counts


def expected_order(root: Node, wanted: set[Node] | None) -> list[Node]:
    """Told by the rule: of all nodes that wait for nothing, the one with the largest number."""
    waiting, ready, order = below([root]), [root], []
    while ready:
        node = max(ready, key=lambda one: one.sequence_nr)
        ready.remove(node)
        order.append(node)
        for target in [edge.function for edge in node.next_edges]:
            if target is not None:
                waiting[target] -= 1
                if not waiting[target] and (wanted is None or target in wanted):
                    ready.append(target)
    return order


@pytest.mark.parametrize("seed", range(150))
def test_of_all_ready_nodes_the_largest_number_runs(seed: int) -> None:
    log: list[str] = []
    nodes, _ = random_graph(seed, log)
    run(nodes[-1])
    assert log == [node.label for node in expected_order(nodes[-1], None) if isinstance(node, FakeNode)]


@pytest.mark.parametrize("seed", range(150))
def test_with_inputs_only_what_leads_to_them_runs(seed: int) -> None:
    log: list[str] = []
    nodes, rng = random_graph(seed, log)
    root = nodes[-1]
    inputs: list[FakeNode] = rng.sample(nodes, min(2, len(nodes)))
    wanted = {node for node in below([root]) if any(one in below([node]) for one in inputs)}
    run(root, inputs=inputs)
    order = expected_order(root, wanted) if root in wanted else []
    assert log == [node.label for node in order if isinstance(node, FakeNode)]


@pytest.mark.parametrize("seed", range(50))
def test_grad_captures_without_running_the_captured_node(seed: int) -> None:
    log: list[str] = []
    nodes, rng = random_graph(seed, log)
    asked = rng.choice(nodes[:-1])
    assert run(nodes[-1], inputs=[asked], accumulate=False) == [None]
    assert asked.label not in log


def test_several_roots_take_a_number_and_start_above_all() -> None:
    log: list[str] = []
    leaf = FakeNode("leaf", log)
    first, second = FakeNode("first", log, [leaf]), FakeNode("second", log, [leaf])
    before = thread.state.sequence_nr
    run(first, second)
    assert thread.state.sequence_nr == before + 1
    assert log == ["second", "first", "leaf"]


def test_one_root_twice_is_one_node() -> None:
    log: list[str] = []
    root = FakeNode("root", log, [FakeNode("leaf", log)])
    run(root, root)
    assert log == ["root", "leaf"]


def test_no_roots_at_all() -> None:
    run()


def test_grad_needs_inputs() -> None:
    with pytest.raises(ValueError, match=r"^grad requires non-empty inputs\.$"):
        run(FakeNode("root", []), accumulate=False)


def test_a_backward_inside_a_node_runs_in_place() -> None:
    log: list[str] = []
    outer_leaf = FakeNode("outer leaf", log, number=10**6)
    inner = FakeNode("inner", log, [FakeNode("inner leaf", log, number=0)], number=0)
    depths: list[int] = []

    def nested() -> None:
        outer = thread.state.graph_task
        run(inner)
        assert thread.state.graph_task is outer
        assert outer is not None
        depths.append(outer.reentrant_depth)

    node = calling(log, nested)
    run(FakeNode("root", log, [outer_leaf, node, outer_leaf, node]))
    assert log == ["root", "outer leaf", "inner", "inner leaf", "calling"]
    assert depths == [0]


def test_graph_task_ids_count_up_and_are_there_during_a_backward_only() -> None:
    seen: list[int] = []
    for _ in range(2):
        run(calling([], lambda: seen.append(current_graph_task_id())))
    assert seen[1] == seen[0] + 1
    assert current_graph_task_id() == -1


def test_every_node_runs_in_the_state_of_the_caller_and_the_caller_gets_his_own_back() -> None:
    seen: list[tuple[int, bool, Node | None]] = []

    def look_and_spoil() -> None:
        seen.append((thread.state.excluded, thread.state.grad_mode, thread.state.current_node))
        thread.state.excluded, thread.state.grad_mode = 0, True

    leaf = calling([], look_and_spoil)
    root = calling([], look_and_spoil, [leaf])
    before = thread.state.excluded
    with ExcludeDispatchKeyGuard(1 << 40), AutoGradMode(True):
        run(root)
        assert thread.state.grad_mode
        assert thread.state.current_node is None
        assert thread.state.excluded == before | 1 << 40
    assert seen == [(before | 1 << 40, False, root), (before | 1 << 40, False, leaf)]


def test_create_graph_is_the_grad_mode_of_formulas() -> None:
    seen: list[bool] = []
    root = calling([], lambda: seen.append(thread.state.grad_mode))
    with AutoGradMode(False):
        execute([Edge(root, 0)], [None], True, True, False, [Edge(FakeNode("elsewhere", []), 0)])
        assert not thread.state.grad_mode
    assert seen == []  # nothing leads to what was asked for
    with AutoGradMode(False):
        execute(
            [Edge(calling([], lambda: seen.append(thread.state.grad_mode), [root]), 0)],
            [None],
            True,
            True,
            False,
            [Edge(root, 0)],
        )
    assert seen == [True]


def test_final_callbacks_run_last_and_may_install_more() -> None:
    log: list[str] = []

    def install() -> None:
        queue_callback(lambda: (log.append("one"), queue_callback(lambda: log.append("three"))))
        queue_callback(lambda: log.append("two"))

    run(calling(log, install, [FakeNode("leaf", log)]))
    assert log == ["calling", "leaf", "one", "two", "three"]


def test_callbacks_outside_of_a_backward_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"^Final callbacks can only be installed during backward pass\.$"):
        queue_callback(lambda: None)


def test_an_error_comes_out_as_it_is_and_what_it_left_waiting_is_skipped() -> None:
    log: list[str] = []

    def fail() -> None:
        raise KeyError("mine")

    low, high = FakeNode("low", log, number=0), FakeNode("high", log, number=10**6)
    with pytest.raises(KeyError, match="mine"):
        run(FakeNode("root", log, [low, high, calling(log, fail, [low])]))
    assert log == ["root", "high"]
    assert thread.state.graph_task is None
    run(FakeNode("again", log, [FakeNode("leaf", log)]))
    assert log == ["root", "high", "again", "leaf"]


def test_error_nodes_raise_when_they_are_reached() -> None:
    with pytest.raises(RuntimeError, match=r"^no way$"):
        run(FakeNode("root", [], [Error("no way")]))


def test_a_node_must_return_one_gradient_per_edge() -> None:
    node = FakeNode("node", [], [None, None])
    node.returns = 1
    text = r"^Function FakeNode returned an invalid number of gradients - expected 2, but got 1$"
    with pytest.raises(RuntimeError, match=text):
        run(node)


def test_nothing_is_left_to_wait_for() -> None:
    nodes, _ = random_graph(11, [])
    tasks = []
    watcher = calling([], lambda: tasks.append(thread.state.graph_task), [nodes[-1]])
    run(watcher)
    (task,) = tasks
    assert task is not None
    assert (task.dependencies, task.not_ready, task.outstanding) == ({}, {}, 0)
