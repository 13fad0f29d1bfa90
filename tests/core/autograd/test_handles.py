"""Handles of hooks, and what tensors show of their hooks.

Run on the model and, with the mark ``torch``, on real PyTorch.
"""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict
from typing import Any

import pytest


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_tensors_show_their_hooks(torch: Any) -> None:
    x = leaf(torch)
    assert (x._backward_hooks, x._post_accumulate_grad_hooks) == (None, None)
    a, b = x.register_hook(print), x.register_post_accumulate_grad_hook(print)
    assert (x._backward_hooks, x._post_accumulate_grad_hooks) == ({a.id: print}, {b.id: print})
    assert type(x._backward_hooks) is OrderedDict
    assert b.id == a.id + 1
    a.remove()
    assert x._backward_hooks == {}


def test_a_handle_outlives_its_tensor(torch: Any) -> None:
    handle = leaf(torch).register_hook(print)
    gc.collect()
    assert handle.hooks_dict_ref() is None
    handle.remove()


def test_a_handle_removes_what_goes_along_with_a_hook(torch: Any) -> None:
    hooks, extra = OrderedDict[int, Any](), OrderedDict[int, Any]()
    handle = torch.utils.hooks.RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id], extra[handle.id], extra[-1] = print, True, True
    handle.remove()
    assert (hooks, extra) == ({}, {-1: True})


def test_a_multi_grad_handle_removes_all(torch: Any) -> None:
    x, z = leaf(torch), leaf(torch)
    handle = torch.autograd.graph.register_multi_grad_hook((x, z), print)
    assert isinstance(handle, torch.utils.hooks.RemovableHandle)
    assert [len(t._backward_hooks) for t in (x, z)] == [1, 1]
    with handle:
        pass
    assert [len(t._backward_hooks) for t in (x, z)] == [0, 0]


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("register_hook", (), "Tensor.register_hook() missing 1 required positional argument: 'hook'"),
        (
            "register_post_accumulate_grad_hook",
            (),
            "Tensor.register_post_accumulate_grad_hook() missing 1 required positional argument: 'hook'",
        ),
    ],
)
def test_wrong_calls(torch: Any, name: str, args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError) as found:
        getattr(leaf(torch), name)(*args)
    assert str(found.value) == message


def test_hooks_keep_no_tensor_alive(torch: Any) -> None:
    y = leaf(torch) * 2
    y.retain_grad()
    y.register_hook(print)
    died = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert died() is None
    finally:
        gc.enable()


def test_hooks_of_two_outputs_run_in_order_of_their_tensors(torch: Any) -> None:
    a, b = torch.ones(4, requires_grad=True).split(2)
    order: list[str] = []
    b.register_hook(lambda grad: order.append("b1"))
    a.register_hook(lambda grad: order.append("a"))
    b.register_hook(lambda grad: order.append("b2"))
    (a + b).sum().backward()
    assert order == ["b1", "b2", "a"]


def test_hooks_registered_inside_a_hook_wait_for_the_next_backward(torch: Any) -> None:
    y = leaf(torch) * 2
    order: list[str] = []

    def first(grad: Any) -> None:
        order.append("first")
        y.register_hook(lambda grad: order.append("later"))

    y.register_hook(first)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert order == ["first", "first", "later"]
