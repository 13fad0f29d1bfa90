"""Hooks on tensors, retained gradients, and what hooks may return."""

from __future__ import annotations

from typing import Any

import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def test_order_of_all_kinds(torch: Any) -> None:
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
        "tensor 1",
        "tensor 2",
        "pre, retained [1.0]",
        "post",
        "leaf tensor",
        "leaf pre",
        "accumulated [2.0]",
        "leaf post () 1",
    ]


def test_with_grad_only_tensor_hooks_of_the_asked_leaf_run(torch: Any) -> None:
    log: list[str] = []
    x = leaf(torch, 1.0)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda grads: log.append("pre"))
    x.register_post_accumulate_grad_hook(lambda tensor: log.append("accumulated"))
    x.register_hook(lambda grad: grad * 10)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert (gradient.tolist(), log) == ([20.0], [])


def test_what_is_captured_and_also_runs_is_captured_unhooked(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    (alone,) = torch.autograd.grad(y.sum(), y, retain_graph=True)
    _, both = torch.autograd.grad(y.sum(), [x, y])
    assert (alone.tolist(), both.tolist()) == ([10.0], [1.0])


def test_replacing_gradients(torch: Any) -> None:
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


def test_registration_errors(torch: Any) -> None:
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
def test_what_a_hook_must_not_return(torch: Any, kind: str, function: Any, error: type[Exception], text: str) -> None:
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


def test_returning_the_same_gradient_is_no_replacement(torch: Any) -> None:
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


def test_a_gradient_that_a_hook_kept_is_not_changed_behind_its_back(torch: Any) -> None:
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


def test_a_second_hook_on_a_stale_view_asks_for_no_node(torch: Any) -> None:
    log: list[str] = []
    view = (leaf(torch, 1.0, 2.0) * 1)[:1]
    view.register_hook(lambda grad: log.append("first"))
    view._base.mul_(3)
    view.register_hook(lambda grad: log.append("second"))
    assert len(view._backward_hooks) == 2
    view.sum().backward()
    assert log == [], "the Node that is made then has no hooks"
