"""The hooks on Nodes and tensors, and their names."""

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


def test_hooks_around_one_node_run_in_this_order() -> None:
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


def test_removing_is_idempotent_and_takes_effect_at_the_next_run() -> None:
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


def test_hooks_of_all_kinds_run_in_this_order(torch: Any) -> None:
    log: list[str] = []
    x = leaf(torch, 1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: log.append(f"pre, retained {y.grad.tolist()}"))
    y.grad_fn.register_hook(lambda outs, grads: log.append("post"))
    y.retain_grad()
    y.register_hook(lambda grad: log.append("tensor 1"))
    y.register_hook(lambda grad: log.append("tensor 2"))
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda outs, grads: log.append(f"leaf post {outs} {len(grads)}"))
    accumulator.register_prehook(lambda grads: log.append("leaf pre"))
    x.register_post_accumulate_grad_hook(lambda tensor: log.append(f"accumulated {tensor.grad.tolist()}"))
    x.register_hook(lambda grad: log.append("leaf tensor"))
    y.sum().backward()
    assert log == [
        "tensor 1", "tensor 2", "pre, retained [1.0]", "post", "leaf tensor", "leaf pre", "accumulated [2.0]",
        "leaf post () 1",
    ]  # fmt: skip


def test_grad_runs_only_tensor_hooks_of_the_requested_leaf(torch: Any) -> None:
    log: list[str] = []
    x = leaf(torch, 1.0)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda grads: log.append("pre"))
    x.register_post_accumulate_grad_hook(lambda tensor: log.append("accumulated"))
    x.register_hook(lambda grad: grad * 10)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert (gradient.tolist(), log) == ([20.0], [])


def test_gradient_of_a_node_that_also_runs_is_captured_before_hooks(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    (alone,) = torch.autograd.grad(y.sum(), y, retain_graph=True)
    _, both = torch.autograd.grad(y.sum(), [x, y])
    assert (alone.tolist(), both.tolist()) == ([10.0], [1.0])


def test_hook_can_replace_gradients(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: grad * 3)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 5,))
    y.grad_fn.register_hook(lambda outs, grads: (outs[0] * 7, None))
    y.sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([3.0], [210.0])


def test_a_retained_gradient_adds_up_out_of_place(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first = y.grad
    y.sum().backward()
    assert y.grad is not first
    assert (first.tolist(), y.grad.tolist(), y.retains_grad) == ([1.0], [2.0], True)


def test_retain_grad_on_a_leaf_does_nothing(torch: Any) -> None:
    x = leaf(torch, 1.0)
    x.retain_grad()
    assert not x.retains_grad


def test_wrong_registrations_of_hooks_are_errors(torch: Any) -> None:
    plain, y = torch.tensor([1.0]), leaf(torch, 1.0) * 2
    for act, text in (
        (lambda: plain.register_hook(print), "cannot register a hook on a tensor that doesn't require gradient"),
        (
            lambda: plain.register_post_accumulate_grad_hook(print),
            "cannot register a hook on a tensor that doesn't require gradient",
        ),
        (
            lambda: y.register_post_accumulate_grad_hook(print),
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
        ),
        (lambda: plain.retain_grad(), "can't retain_grad on Tensor that has requires_grad=False"),
    ):
        with pytest.raises(RuntimeError) as error:
            act()
        assert str(error.value) == text


def named(function: Any) -> Any:
    def run(*args: Any) -> Any:
        return function(*args)

    return run


@pytest.mark.parametrize(
    ("kind", "function", "error", "text"),
    [
        ("tensor", lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (
            "tensor",
            lambda g: g.double(),
            RuntimeError,
            "hook 'run' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)",
        ),
        ("tensor", lambda g: g.sum(), RuntimeError, "hook 'run' has changed the size of value"),
        ("pre", lambda gs: gs[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
        (
            "post",
            lambda outs, gs: (outs[0],),
            RuntimeError,
            "hook 'run' has returned an incorrect number of values (got 1, but expected 2)",
        ),
        (
            "post",
            lambda outs, gs: (outs[0], outs[0]),
            RuntimeError,
            "can't replace a None gradient with a non-None value",
        ),
        ("post-accumulate", lambda t: t * 1, RuntimeError, "Tensor post accumulate grad hooks should return None."),
        ("post-accumulate", lambda t: 3, TypeError, "expected Variable, but hook returned 'int'"),
    ],
)
def test_wrong_results_of_hooks_are_errors(
    torch: Any, kind: str, function: Any, error: type[Exception], text: str
) -> None:
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    register = {
        "tensor": y.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "post-accumulate": x.register_post_accumulate_grad_hook,
    }[kind]
    register(named(function))
    with pytest.raises(error) as raised:
        y.sum().backward()
    assert str(raised.value) == text


def test_returning_the_same_gradient_does_not_replace_it(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    y.register_hook(lambda grad: grad)
    y.grad_fn.register_prehook(lambda grads: grads)
    y.grad_fn.register_hook(lambda outs, grads: outs)
    x.register_post_accumulate_grad_hook(lambda tensor: tensor)
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_old_hooks_see_the_gradient_of_the_old_value(torch: Any) -> None:
    log: list[Any] = []
    x = leaf(torch, 1.0)
    y = x * 3
    y.register_hook(lambda grad: log.append(("old", grad.tolist())))
    y.mul_(5)
    y.register_hook(lambda grad: log.append(("new", grad.tolist())))
    y.sum().backward()
    assert log == [("new", [1.0]), ("old", [5.0])]


def test_a_retained_gradient_follows_an_in_place_operation(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 3
    y.retain_grad()
    y.mul_(5)
    y.sum().backward()
    assert y.grad.tolist() == [1.0]


def test_hooks_of_a_leaf_apply_to_graphs_built_before(torch: Any) -> None:
    x = leaf(torch, 1.0)
    z = (x * 2).sum()
    handle = x.register_hook(lambda grad: grad * 10)
    z.backward(retain_graph=True)
    handle.remove()
    handle.remove()
    z.backward()
    assert x.grad.tolist() == [22.0]


def test_gradient_kept_by_a_hook_is_not_changed_later(torch: Any) -> None:
    kept: list[Any] = []
    x = leaf(torch, 0.0)
    y = x.exp()
    a, b = y.exp(), y * 3
    b.grad_fn.register_hook(lambda outs, grads: kept.append(outs[0]))
    handle = x.register_hook(kept.append)
    (a + b).sum().backward()
    kept_before = [grad.tolist() for grad in kept]
    handle.remove()
    (x * 100).sum().backward()
    assert [grad.tolist() for grad in kept] == kept_before
    assert kept_before[0] == [3.0]


def test_both_operands_of_a_sum_get_their_own_grad(torch: Any) -> None:
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    (x + y).exp().sum().backward()
    x.grad.mul_(0)
    assert y.grad.tolist() == pytest.approx([20.085537])


def test_second_hook_on_a_stale_view_creates_no_node(torch: Any) -> None:
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
    """A hook whose name comes from the program's code."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, grad: Any) -> None:
        return None

    def ask(self) -> str:
        self.times += 1
        raise RuntimeError("no name")


class AskedForAll(Asked):
    def __getattr__(self, name: str) -> Any:
        return self.ask()


class AskedForProperty(Asked):
    @property
    def __name__(self) -> str:
        return self.ask()


class Name:
    """A descriptor of the program."""

    def __get__(self, hook: Asked | None, owner: type) -> Any:
        return self if hook is None else hook.ask()


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
def test_error_has_the_hooks_name_if_there_is_one(torch: Any, kind: str) -> None:
    make, name = HOOKS[kind]
    y = torch.ones(1, requires_grad=True) * 2
    y.register_hook(make())
    with pytest.raises(RuntimeError, match=f"hook '{name}' has changed the type of value"):
        y.sum().backward()


@pytest.mark.parametrize("kind", HOOKS)
def test_recording_has_the_same_hook_names(kind: str) -> None:
    make, name = HOOKS[kind]
    with dispatchviz.record() as trace:
        (model.ones(1, requires_grad=True) * 2).register_hook(make())
    assert [event.function for event in trace if isinstance(event, ev.HookRegistered)] == [name]


@pytest.mark.parametrize("kind", [AskedForAll, AskedForProperty, AskedForDescriptor, OfAskedClass])
def test_hook_name_runs_no_code_of_the_program(torch: Any, kind: Callable[[], Asked]) -> None:
    """Neither PyTorch nor a recording reads the name of a hook whose own code would return it."""
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
