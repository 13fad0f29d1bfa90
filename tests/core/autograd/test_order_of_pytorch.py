"""Live: on random graphs, with ties and overridden numbers, PyTorch runs Nodes in the order of our engine."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dispatchviz.core.autograd.engine.engine import execute
from dispatchviz.core.autograd.graph.edge import EMPTY_EDGE, Edge

from .fake_nodes import FakeNode

pytestmark = pytest.mark.torch


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


@pytest.mark.parametrize("seed", range(80))
def test_order(seed: int) -> None:
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
