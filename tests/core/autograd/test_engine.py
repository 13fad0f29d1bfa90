"""The engine: its answers, and the order of its ready queue, ties included."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest

import dispatchviz.torch as model
from dispatchviz.core.autograd.engine.engine import execute
from dispatchviz.core.autograd.engine.graph_task import GONE, GraphTask, current_graph_task_id, queue_callback
from dispatchviz.core.autograd.engine.ready_queue import NodeTask, ReadyQueue
from dispatchviz.core.autograd.graph.basic_nodes import Error
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.thread.guards import AutoGradMode, ExcludeDispatchKeyGuard
from dispatchviz.core.thread.thread_state import thread
from truth import records
from truth.questions.engine import QUESTIONS, Question, answers

from .fake_nodes import FakeNode, run
from .heap_sequences import SEQUENCES


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


def test_no_roots_at_all() -> None:
    run()


def test_grad_needs_inputs() -> None:
    with pytest.raises(ValueError, match=r"^grad requires non-empty inputs\.$"):
        run(FakeNode("root", []), accumulate=False)


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


def test_error_nodes_raise_when_they_are_reached() -> None:
    with pytest.raises(RuntimeError, match=r"^no way$"):
        run(FakeNode("root", [], [Error("no way")]))


def test_nothing_is_left_to_wait_for() -> None:
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
def test_the_engine_leaves_behind_what_pytorch_leaves(question: Question) -> None:
    assert json.loads(json.dumps(question(model))) == STORED_ANSWERS[question.__name__]


@pytest.mark.record("engine_answers")
def test_every_question_is_stored() -> None:
    assert list(STORED_ANSWERS) == [question.__name__ for question in QUESTIONS]


@pytest.mark.record("engine_answers")
@pytest.mark.torch
def test_what_is_stored_is_what_pytorch_answers() -> None:
    assert answers(pytest.importorskip("torch")) == STORED_ANSWERS


def task() -> GraphTask:
    return GraphTask(keep_graph=False, grad_mode=False, reentrant_depth=0)


@pytest.mark.parametrize(("operations", "popped"), SEQUENCES)
def test_ties_fall_as_in_the_cpp_library(operations: str, popped: str) -> None:
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


def test_deeper_graph_tasks_come_first_and_those_that_are_gone_before_all() -> None:
    queue = ReadyQueue()
    tasks = {depth: GraphTask(False, False, depth) for depth in (0, 1, 2)}
    for depth, base in tasks.items():
        queue.push(NodeTask(base, FakeNode(str(depth), [], number=10 - depth), []))
    late = GraphTask(False, False, 0)
    late.reentrant_depth = GONE
    queue.push(NodeTask(late, FakeNode("gone", [], number=0), []))
    order = [queue.pop().node for _ in range(4)]
    assert [node.label for node in order if isinstance(node, FakeNode)] == ["gone", "2", "1", "0"]


def test_a_number_that_is_changed_while_its_node_waits_counts() -> None:
    queue, base = ReadyQueue(), task()
    first, second = FakeNode("first", [], number=5), FakeNode("second", [], number=4)
    queue.push(NodeTask(base, first, []))
    second._set_sequence_nr(6)
    queue.push(NodeTask(base, second, []))
    assert queue.nodes_in_order() == [second, first]
    assert len(queue) == 2
