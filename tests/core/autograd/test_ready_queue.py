"""The order of the ready queue, ties included."""

from __future__ import annotations

import random

import pytest

from dispatchviz.core.autograd.engine.graph_task import GONE, GraphTask
from dispatchviz.core.autograd.engine.ready_queue import NodeTask, ReadyQueue
from dispatchviz.core.autograd.graph.node import MAX_SEQUENCE_NR

from .fake_nodes import FakeNode, run
from .heap_sequences import SEQUENCES


def task() -> GraphTask:
    return GraphTask(keep_graph=False, grad_mode=False, reentrant_depth=0)


def test_the_largest_number_first() -> None:
    queue, base = ReadyQueue(), task()
    numbers = random.Random(3).sample(range(1000), 100)
    for number in numbers:
        queue.push(NodeTask(base, FakeNode(str(number), [], number=number), []))
    assert [queue.pop().node.sequence_nr for _ in numbers] == sorted(numbers, reverse=True)
    assert base.outstanding == 100


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


@pytest.mark.parametrize(
    ("leaves", "order"), [(3, "0 1 2"), (4, "0 2 1 3"), (5, "0 2 4 1 3"), (6, "0 2 5 4 1 3"), (1, "0"), (2, "0 1")]
)
def test_equal_leaves_of_one_node(leaves: int, order: str) -> None:
    log: list[str] = []
    accumulators = [FakeNode(str(i), log, number=MAX_SEQUENCE_NR) for i in range(leaves)]
    run(FakeNode("stack", log, accumulators))
    assert " ".join(log) == f"stack {order}"


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
