"""Saved-tensor hooks: what the recorded programs (``saved_hooks.txt``) cannot say of them.

Run on the model and, with the mark ``torch``, on real PyTorch.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.autograd.graph import saved_variable_hooks
from dispatchviz.core.autograd.graph.saved_variable import SavedVariable
from dispatchviz.core.record import events


def same(value: Any) -> Any:
    return value


def hooked(torch: Any, function: Callable[[], Any], pack: Any = None, unpack: Any = same) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(pack or (lambda tensor: tensor.detach()), unpack):
        return function()


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_unpack_runs_once_per_use(torch: Any) -> None:
    x, seen = leaf(torch), []

    def unpack(tensor: Any) -> Any:
        seen.append(tensor.tolist())
        return tensor

    y = hooked(torch, lambda: x * x, unpack=unpack)
    assert y.grad_fn._saved_self.tolist() == [1.0, 2.0]
    y.sum().backward()
    assert len(seen) == 3
    assert x.grad.tolist() == [2.0, 4.0]


def test_default_hooks_are_a_threads_own(torch: Any) -> None:
    x, seen = leaf(torch), []

    def elsewhere() -> None:
        x.exp()

    def pack(tensor: Any) -> Any:
        seen.append(threading.current_thread().name)
        return tensor.detach()

    def here() -> None:
        other = threading.Thread(target=elsewhere, name="other")
        other.start()
        other.join()
        x.exp()

    hooked(torch, here, pack)
    assert seen == [threading.current_thread().name]


def test_what_was_packed_goes_with_the_graph(torch: Any) -> None:
    class Box:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor.detach()

    x = leaf(torch)
    boxes: list[Any] = []

    def pack(tensor: Any) -> Box:
        box = Box(tensor)
        boxes.append(weakref.ref(box))
        return box

    y = hooked(torch, lambda: x * x, pack, lambda box: box.tensor)
    assert all(box() is not None for box in boxes)
    y.sum().backward()
    assert len(boxes) == 2
    assert all(box() is None for box in boxes)


def test_packing_makes_no_cycle(torch: Any) -> None:
    x = leaf(torch)
    y = hooked(torch, x.exp)
    died = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert died() is None
    finally:
        gc.enable()


def test_unpacked_tensors_share_the_version(torch: Any) -> None:
    x = leaf(torch)
    y = hooked(torch, lambda: x.exp() * x)
    before = y.grad_fn._saved_self._version
    y.grad_fn._saved_self.detach().add_(1)
    assert y.grad_fn._saved_self._version == before + 1


def test_an_unpacked_leaf_has_the_accumulator_of_the_saved_one(torch: Any) -> None:
    x = leaf(torch)
    y = hooked(torch, lambda: x * x.exp())
    edge = torch.autograd.graph.get_gradient_edge
    assert edge(y.grad_fn._saved_self).node is edge(x).node
    assert y.grad_fn._saved_self is not x


def test_a_failed_block_leaves_no_hooks(torch: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        hooked(torch, lambda: 1 // 0)
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None


@pytest.mark.parametrize("given", [(3, 4), (print,), (print, None)])
def test_hooks_must_be_callable(torch: Any, given: tuple[Any, ...]) -> None:
    x = leaf(torch)
    saved = (x * x).grad_fn._raw_saved_self
    with pytest.raises(TypeError, match=r"^register_hooks\(\): incompatible function arguments") as found:
        saved.register_hooks(*given)
    assert "1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable" in str(found.value)


def test_nobody_asks_for_hooks_while_there_are_none() -> None:
    plain = saved_variable_hooks._init
    assert SavedVariable.__init__ is plain
    with model.autograd.graph.saved_tensors_hooks(same, same):
        assert SavedVariable.__init__ is not plain
        with model.autograd.graph.saved_tensors_hooks(same, same):
            pass
        assert SavedVariable.__init__ is not plain
    assert SavedVariable.__init__ is plain


def test_packing_and_unpacking_are_told() -> None:
    def small(tensor: Any) -> list[float]:
        return list(tensor.tolist())

    def big(numbers: list[float]) -> Any:
        return model.tensor(numbers)

    x = leaf(model)
    with dispatchviz.record() as trace:
        y = hooked(model, x.exp, small, big)
        y.sum().backward()
    told = [(e.kind, e.function, e.packed) for e in trace if isinstance(e, events.SavedTensorHookRan)]
    assert told == [("pack hook", "small", "list"), ("unpack hook", "big", "list")]
    (made, _) = (e.tensor for e in trace if isinstance(e, events.SavedTensorHookRan))
    assert made == next(e.tensor for e in trace if isinstance(e, events.HistorySet))


def test_mutation_of_saved_tensors(torch: Any) -> None:
    x = leaf(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = x.clone()
        out = (a * a).sum()
        assert len(context.original) == 1
        a.mul_(0)
        assert (len(context.original), len(context.cloned)) == (0, 1)
        out.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert len(context.cloned) == 0
