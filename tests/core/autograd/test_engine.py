"""The engine: its answers, the order of its ready queue, ties included, and the order of PyTorch."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

import dispatchviz.torch as model
from dispatchviz.core.autograd.engine.engine import execute
from dispatchviz.core.autograd.engine.graph_task import GONE, GraphTask, current_graph_task_id, queue_callback
from dispatchviz.core.autograd.engine.ready_queue import NodeTask, ReadyQueue
from dispatchviz.core.autograd.graph.basic_nodes import Error
from dispatchviz.core.autograd.graph.edge import EMPTY_EDGE, Edge
from dispatchviz.core.autograd.graph.node import MAX_SEQUENCE_NR, Gradients, Node
from dispatchviz.core.thread.guards import AutoGradMode, ExcludeDispatchKeyGuard
from dispatchviz.core.thread.thread_state import thread
from truth import records
from truth.questions.engine import QUESTIONS, Question, answers

from .fake_nodes import FakeNode, run
from .heap_sequences import SEQUENCES


class Calling(FakeNode):
    """A Node that calls a function when it runs."""

    __slots__ = ("function",)

    def apply(self, grads: Gradients) -> Gradients:
        self.function()  # type: ignore[attr-defined]
        return super().apply(grads)


def calling(log: list[str], function: object, targets: Sequence[Node | None] = (), label: str = "calling") -> Calling:
    node = Calling(label, log, targets)
    node.function = function  # type: ignore[attr-defined]
    return node


def random_graph(seed: int, log: list[str]) -> tuple[list[FakeNode], random.Random]:
    """A graph of Nodes with distinct random priorities, and the random numbers. Every Node but the first leads to some
    earlier ones.
    """
    rng = random.Random(seed)
    size = rng.randint(2, 25)
    numbers = rng.sample(range(1000), size)
    nodes: list[FakeNode] = []
    for i, number in enumerate(numbers):
        targets = rng.choices([*nodes, None], k=rng.randint(1, 3)) if nodes else []
        nodes.append(FakeNode(str(i), log, targets, number))
    return nodes, rng


def below(roots: Sequence[Node]) -> dict[Node, int]:
    """All Nodes that can be reached, with the number of edges that lead to each."""
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
    """The order by the rule: when several Nodes are ready, the one with the largest number runs first."""
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
def test_ready_node_with_the_largest_number_runs(seed: int) -> None:
    log: list[str] = []
    nodes, _ = random_graph(seed, log)
    run(nodes[-1])
    assert log == [node.label for node in expected_order(nodes[-1], None) if isinstance(node, FakeNode)]


@pytest.mark.parametrize("seed", range(150))
def test_inputs_restrict_the_nodes_that_run(seed: int) -> None:
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


def test_root_given_twice_runs_once() -> None:
    log: list[str] = []
    root = FakeNode("root", log, [FakeNode("leaf", log)])
    run(root, root)
    assert log == ["root", "leaf"]


def test_backward_without_roots_does_nothing() -> None:
    run()


def test_grad_needs_inputs() -> None:
    with pytest.raises(ValueError, match=r"^grad requires non-empty inputs\.$"):
        run(FakeNode("root", []), accumulate=False)


def test_backward_inside_a_node_runs_on_its_thread() -> None:
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


def test_graph_task_ids_count_up_and_exist_only_during_a_backward() -> None:
    seen: list[int] = []
    for _ in range(2):
        run(calling([], lambda: seen.append(current_graph_task_id())))
    assert seen[1] == seen[0] + 1
    assert current_graph_task_id() == -1


def test_nodes_run_in_the_callers_state_which_is_restored() -> None:
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


def test_error_is_raised_unchanged_and_waiting_nodes_are_skipped() -> None:
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


def test_unmet_dependency_is_an_error() -> None:
    nodes, _ = random_graph(11, [])
    tasks = []
    watcher = calling([], lambda: tasks.append(thread.state.graph_task), [nodes[-1]])
    run(watcher)
    (task,) = tasks
    assert task is not None
    assert (task.dependencies, task.not_ready, task.outstanding) == ({}, {}, 0)


STORED_ANSWERS = records.read("engine_answers")


@pytest.mark.record("engine_answers")
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_engine_leaves_the_same_state_as_pytorch(question: Question) -> None:
    assert json.loads(json.dumps(question(model))) == STORED_ANSWERS[question.__name__]


@pytest.mark.record("engine_answers")
def test_every_question_has_a_stored_answer() -> None:
    assert list(STORED_ANSWERS) == [question.__name__ for question in QUESTIONS]


@pytest.mark.record("engine_answers")
@pytest.mark.torch
def test_stored_answers_equal_pytorchs() -> None:
    assert answers(pytest.importorskip("torch")) == STORED_ANSWERS


def task() -> GraphTask:
    return GraphTask(keep_graph=False, grad_mode=False, reentrant_depth=0)


def test_queue_pops_the_largest_number_first() -> None:
    queue, base = ReadyQueue(), task()
    numbers = random.Random(3).sample(range(1000), 100)
    for number in numbers:
        queue.push(NodeTask(base, FakeNode(str(number), [], number=number), []))
    assert [queue.pop().node.sequence_nr for _ in numbers] == sorted(numbers, reverse=True)
    assert base.outstanding == 100


@pytest.mark.parametrize(("operations", "popped"), SEQUENCES)
def test_ties_are_resolved_as_in_the_cpp_library(operations: str, popped: str) -> None:
    queue, base = ReadyQueue(), task()
    order: list[str] = []
    pushed = 0
    for operation in operations:
        if operation == ".":
            node = queue.pop().node
            assert isinstance(node, FakeNode)
            order.append(node.label)
        else:
            queue.push(NodeTask(base, FakeNode(str(pushed), [], number=ord(operation)), []))
            pushed += 1
    assert " ".join(order) == popped
    assert len(queue) == 0


@pytest.mark.parametrize(
    ("leaves", "order"), [(3, "0 1 2"), (4, "0 2 1 3"), (5, "0 2 4 1 3"), (6, "0 2 5 4 1 3"), (1, "0"), (2, "0 1")]
)
def test_equal_leaves_of_one_node_run_in_this_order(leaves: int, order: str) -> None:
    log: list[str] = []
    accumulators = [FakeNode(str(i), log, number=MAX_SEQUENCE_NR) for i in range(leaves)]
    run(FakeNode("stack", log, accumulators))
    assert " ".join(log) == f"stack {order}"


def test_ended_graph_tasks_come_first_then_deeper_ones() -> None:
    queue = ReadyQueue()
    tasks = {depth: GraphTask(False, False, depth) for depth in (0, 1, 2)}
    for depth, base in tasks.items():
        queue.push(NodeTask(base, FakeNode(str(depth), [], number=10 - depth), []))
    late = GraphTask(False, False, 0)
    late.reentrant_depth = GONE
    queue.push(NodeTask(late, FakeNode("gone", [], number=0), []))
    order = [queue.pop().node for _ in range(4)]
    assert [node.label for node in order if isinstance(node, FakeNode)] == ["gone", "2", "1", "0"]


def test_changed_number_of_a_waiting_node_counts() -> None:
    queue, base = ReadyQueue(), task()
    first, second = FakeNode("first", [], number=5), FakeNode("second", [], number=4)
    queue.push(NodeTask(base, first, []))
    second._set_sequence_nr(6)
    queue.push(NodeTask(base, second, []))
    assert queue.nodes_in_order() == [second, first]
    assert len(queue) == 2


def random_program(torch: Any, rng: random.Random) -> tuple[list[Any], list[Any]]:
    """Leaves and results of random additions and products."""
    leaves = [torch.ones(1, requires_grad=True) for _ in range(rng.randint(2, 6))]
    made = list(leaves)
    for _ in range(rng.randint(3, 25)):
        parts = rng.choices(made[-8:] if rng.random() < 0.5 else made, k=rng.randint(1, 4))
        made.append(torch.stack(parts).sum(0) if len(parts) > 2 else parts[0] * parts[-1])
    for tensor in rng.sample(made, len(made) // 3):
        node = tensor.grad_fn or (tensor * 1).grad_fn.next_functions[0][0]
        node._set_sequence_nr(rng.choice([0, 5, 5, 2**64 - 1]))
    return leaves, made


def nodes_below(roots: list[Any]) -> list[Any]:
    """Children before parents."""
    order: list[Any] = []
    stack = [(root, False) for root in roots]
    while stack:
        node, done = stack.pop()
        if done:
            if node not in order:
                order.append(node)
        elif node not in order:
            stack.append((node, True))
            stack.extend((target, False) for target, _ in node.next_functions if target is not None)
    return order


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(80))
def test_nodes_run_in_pytorchs_order(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = random.Random(seed)
    leaves, made = random_program(torch, rng)
    roots = rng.sample(made[-4:], rng.randint(1, 2))
    theirs = [root.grad_fn or (root * 1).grad_fn.next_functions[0][0] for root in roots]
    nodes = nodes_below(theirs)
    seen: list[int] = []
    mirrored: list[str] = []
    ours: dict[Any, FakeNode] = {}
    for i, node in enumerate(nodes):
        node.register_prehook(lambda grads, i=i: seen.append(i))
        ours[node] = FakeNode(str(i), mirrored, (), node._sequence_nr())
        edges = [EMPTY_EDGE if t is None else Edge(ours[t], nr) for t, nr in node.next_functions]
        ours[node].set_next_edges(edges)
        ours[node].returns = len(edges)
    inputs = rng.sample(leaves, 1) if rng.random() < 0.3 else None
    asked = [(leaf * 1).grad_fn.next_functions[0][0] for leaf in inputs or ()]
    torch.autograd.backward(roots, [torch.ones(1) for _ in roots], inputs=inputs)
    wanted = [Edge(ours.get(node) or FakeNode("elsewhere", mirrored), 0) for node in asked]
    execute([Edge(ours[node], 0) for node in theirs], [None] * len(roots), False, False, True, wanted)
    assert [int(label) for label in mirrored] == seen
