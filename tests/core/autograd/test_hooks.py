"""Hooks on Nodes and tensors, and their names."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as model
from dispatchviz.core.autograd.hooks.hooks import RemovableHandle
from dispatchviz.core.record import events as ev

from .fake_nodes import FakeNode, run
from .leaves import leaf


def test_order_around_one_node() -> None:
    log: list[Any] = []
    leaf = FakeNode("leaf", log)
    node = FakeNode("node", log, [leaf, None])
    node.register_hook(lambda grad_inputs, grad_outputs: log.append(("post", grad_inputs, grad_outputs)))
    node.register_prehook(lambda grad_outputs: log.append(("pre 1", grad_outputs)))
    node.register_prehook(lambda grad_outputs: log.append(("pre 2", grad_outputs)))
    run(node)
    assert log == [("pre 1", (None,)), ("pre 2", (None,)), "node", ("post", (None, None), (None,)), "leaf"]


def test_hooks_do_not_run_when_the_node_is_only_captured() -> None:
    log: list[Any] = []
    leaf = FakeNode("leaf", log)
    leaf.register_prehook(lambda grad_outputs: log.append("pre"))
    leaf.register_hook(lambda grad_inputs, grad_outputs: log.append("post"))
    run(FakeNode("root", log, [leaf]), inputs=[leaf], accumulate=False)
    assert log == ["root"]


def test_removing_is_idempotent_and_acts_at_the_next_run() -> None:
    log: list[Any] = []
    node = FakeNode("node", log)
    handles: list[RemovableHandle] = []

    def first(grad_outputs: object) -> None:
        log.append("first")
        for handle in handles:
            handle.remove()

    handles.append(node.register_prehook(first))
    handles.append(node.register_prehook(lambda grad_outputs: log.append("second")))
    run(node)
    run(node)
    assert log == ["first", "second", "node", "node"]
    handles[0].remove()


def test_a_handle_is_a_context_manager_and_does_not_keep_the_node_alive() -> None:
    log: list[Any] = []
    node = FakeNode("node", log)
    with node.register_prehook(lambda grad_outputs: log.append("inside")) as handle:
        run(node)
    run(node)
    assert log == ["inside", "node", "node"]
    del node
    gc.collect()
    handle.remove()


def test_a_retained_gradient_adds_up_out_of_place(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first = y.grad
    y.sum().backward()
    assert y.grad is not first
    assert (first.tolist(), y.grad.tolist(), y.retains_grad) == ([1.0], [2.0], True)


def test_a_second_hook_on_a_stale_view_asks_for_no_node(torch: Any) -> None:
    log: list[str] = []
    view = (leaf(torch, 1.0, 2.0) * 1)[:1]
    view.register_hook(lambda grad: log.append("first"))
    view._base.mul_(3)
    view.register_hook(lambda grad: log.append("second"))
    assert len(view._backward_hooks) == 2
    view.sum().backward()
    assert log == [], "the Node that is made then has no hooks"


class Doubles:
    def __call__(self, grad: Any) -> Any:
        return grad.double()

    def as_method(self, grad: Any) -> Any:
        return grad.double()


class Named(Doubles):
    __name__ = "of its class"


class NamedByNumber(Doubles):
    __name__ = 5


class Asked:
    """A hook whose name is made by code of the program's."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, grad: Any) -> None:
        return None

    def tell(self) -> str:
        self.times += 1
        raise RuntimeError("no name")


class AskedForAll(Asked):
    def __getattr__(self, name: str) -> Any:
        return self.tell()


class AskedForProperty(Asked):
    @property
    def __name__(self) -> str:
        return self.tell()


class Name:
    """A descriptor of the program's own."""

    def __get__(self, hook: Asked | None, owner: type) -> Any:
        return self if hook is None else hook.tell()


class AskedForDescriptor(Asked):
    __name__ = Name()


class AskedClass(type):
    def __getattr__(cls, name: str) -> Any:
        raise SystemError(name)


class OfAskedClass(Asked, metaclass=AskedClass):
    pass


class Failing(Doubles):
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def doubling(grad: Any) -> Any:
    return grad.double()


HOOKS: dict[str, tuple[Callable[[], Callable[[Any], Any]], str]] = {
    "function": (lambda: doubling, "doubling"),
    "method": (lambda: Doubles().as_method, "as_method"),
    "object": (Doubles, "<unknown>"),
    "attribute of the class": (Named, "of its class"),
    "number": (NamedByNumber, "<unknown>"),
    "failing": (Failing, "<unknown>"),
    "partial": (lambda: partial(doubling), "<unknown>"),
}


@pytest.mark.parametrize("kind", HOOKS)
def test_a_message_has_the_name_if_there_is_one(torch: Any, kind: str) -> None:
    make, name = HOOKS[kind]
    y = torch.ones(1, requires_grad=True) * 2
    y.register_hook(make())
    with pytest.raises(RuntimeError, match=f"hook '{name}' has changed the type of value"):
        y.sum().backward()


@pytest.mark.parametrize("kind", HOOKS)
def test_a_recording_has_the_same(kind: str) -> None:
    make, name = HOOKS[kind]
    with dispatchviz.record() as trace:
        (model.ones(1, requires_grad=True) * 2).register_hook(make())
    assert [event.function for event in trace if isinstance(event, ev.HookRegistered)] == [name]


@pytest.mark.parametrize("kind", [AskedForAll, AskedForProperty, AskedForDescriptor, OfAskedClass])
def test_code_of_the_programs_does_not_run_for_a_name(torch: Any, kind: Callable[[], Asked]) -> None:
    """A hook whose own code would say its name is not asked, neither by PyTorch nor by a recording."""
    hook = kind()

    def run() -> None:
        x = torch.ones(1, requires_grad=True)
        x.register_hook(hook)
        y = x * 2
        y.grad_fn.register_prehook(hook)
        y.sum().backward()

    run()
    with dispatchviz.record() as trace:
        run()
    assert hook.times == 0
    assert {event.function for event in trace if isinstance(event, ev.HookRan)} <= {"<unknown>"}
