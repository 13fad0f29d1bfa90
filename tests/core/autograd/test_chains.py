"""Long chains: 100,000 Nodes are built, walked back and deleted without recursion along them."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import dispatchviz.torch as torch

pytestmark = pytest.mark.long

LENGTH = 100_000


def leaf() -> Any:
    return torch.tensor([1.0], requires_grad=True)


class Double(torch.autograd.Function):
    """A Node of Python code."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 1.0


def hooked(z: Any) -> Any:
    """Return a result whose Node has a hook that refers to the previous tensor: a reference beside the edges."""
    after = z + 1.0
    after.register_hook(lambda gradient, before=z: None)
    return after


def sliced(z: Any) -> Any:
    z = z.clone()
    z.view(1).mul_(1.0)
    return z


STEPS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "saves nothing": (lambda z: -z, LENGTH // 5),
    "saves inputs": (lambda z: z * z, LENGTH),
    "saves results": (lambda z: z.sqrt(), LENGTH // 5),
    "in place": (lambda z: z.neg_(), LENGTH // 5),
    "CopySlices": (sliced, LENGTH // 10),
    "Function": (Double.apply, LENGTH // 10),
    "hooks": (hooked, LENGTH // 10),
}


def chain(step: Callable[[Any], Any], length: int) -> tuple[Any, Any]:
    x = leaf()
    z = x.clone()
    for _ in range(length):
        z = step(z)
    return x, z


@pytest.mark.parametrize("name", STEPS)
def test_a_long_chain_is_walked_back_and_deleted(name: str) -> None:
    step, length = STEPS[name]
    x, z = chain(step, length)
    assert sys.getrecursionlimit() < length
    z.backward(retain_graph=True)
    assert x.grad is not None
    first = weakref.ref(x.grad)
    node = weakref.ref(z.grad_fn)
    del z
    gc.collect()  # a Function's Node and its context refer to each other
    assert node() is None
    assert first() is x.grad


def test_long_chain_is_deleted_without_a_backward() -> None:
    _, z = chain(lambda z: z * z, LENGTH // 5)
    node = weakref.ref(z.grad_fn)
    del z
    assert node() is None


def test_grad_of_a_long_chain_runs_only_the_path() -> None:
    x, z = chain(lambda z: -z, LENGTH // 5)
    (gradient,) = torch.autograd.grad(z, x)
    assert gradient.tolist() == [1.0]


def test_long_chain_of_second_order_runs() -> None:
    x, z = chain(lambda z: z.exp(), LENGTH // 50)
    (gradient,) = torch.autograd.grad(z, x, create_graph=True)
    gradient.backward()
    assert x.grad is not None
