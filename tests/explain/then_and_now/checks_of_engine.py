"""Checks of the reasons why the engine runs Nodes as it does."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.explain.then_and_now.checks import Checks
from tests.explain.then_and_now.installed import text, torch

CHECKS = Checks()
checks = CHECKS.of


def told(names: list[str], name: str, gradients: Any) -> None:
    names.append(name)


def ran(result: Any) -> list[str]:
    """The names of Nodes in the order in which they run; hooks of AccumulateGrad among them."""
    found: list[str] = []
    todo, seen = [result.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            node.register_prehook(partial(told, found, node.name()))
            todo += [edge for edge, _ in node.next_functions]
    result.backward()
    return found


@checks("counts")
def _counts() -> None:
    x = torch().ones(2, requires_grad=True)
    y = x.exp()
    inputs: list[Any] = []
    y.grad_fn.register_prehook(lambda gradients: inputs.append(gradients[0].tolist()))
    (y.sum() + (y * 2).sum()).backward()
    assert inputs == [[3.0, 3.0]]
    assert "compute_dependencies(" in text("torch/csrc/autograd/engine.h")


@checks("sequence-numbers")
def _largest_first() -> None:
    assert "return t1.fn_->sequence_nr() < t2.fn_->sequence_nr();" in text("torch/csrc/autograd/engine.h")
    x = torch().ones(2, requires_grad=True) * 1
    assert ran((x.sin() + x.cos()).sum())[2:4] == ["CosBackward0", "SinBackward0"]
    first, second = (x := torch().ones(2, requires_grad=True) * 1).sin(), x.cos()
    first.grad_fn._set_sequence_nr(10**6)
    assert ran((first + second).sum())[2:4] == ["SinBackward0", "CosBackward0"]


@checks("accumulategrad-has-the-maximum")
def _accumulate_first() -> None:
    x, w = torch().ones(2, requires_grad=True), torch().ones(2, requires_grad=True)
    y = x.sin().cos() * w
    accumulators = [edge for edge, _ in y.grad_fn.next_functions if edge.name().endswith("AccumulateGrad")]
    assert accumulators[0]._sequence_nr() == 2**64 - 1
    told: list[bool] = []
    w.register_post_accumulate_grad_hook(lambda w: told.append(w.grad is not None and x.grad is None))
    names = ran(y.sum())
    assert names[2].endswith("AccumulateGrad")
    assert names[3:5] == ["CosBackward0", "SinBackward0"]
    assert told == [True]
