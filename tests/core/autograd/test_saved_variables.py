"""Saved variables and the hooks that pack them."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.autograd.graph import saved_variable_hooks
from dispatchviz.core.autograd.graph.saved_variable import SavedVariable
from dispatchviz.core.record import events

from .leaves import leaf

SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)


def modified(what: str, version: int) -> str:
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what} is at version {version}; expected version {version - 1} instead. Hint: enable anomaly detection to "
        "find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def test_input_is_saved_as_the_same_object(torch: Any) -> None:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    node = (x * y).grad_fn
    assert node._saved_self is x
    assert node._saved_other is y


def test_tensor_that_no_valid_edge_needs_is_not_saved(torch: Any) -> None:
    x, plain = leaf(torch, 2.0), torch.tensor([3.0])
    z = x * plain
    assert z.grad_fn._saved_self is None
    assert z.grad_fn._saved_other is plain
    with torch.no_grad():
        x.add_(1)
    z.sum().backward()


def test_a_number_is_saved_as_a_tensor(torch: Any) -> None:
    saved = (leaf(torch, 2.0) * 3).grad_fn._saved_other
    assert (saved.tolist(), saved.dtype) == (3, torch.int64)


def test_an_output_is_saved_without_a_cycle(torch: Any) -> None:
    y = leaf(torch, 0.0).exp()
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert saved is not y.grad_fn._saved_result
    assert saved.grad_fn is y.grad_fn
    assert (saved.tolist(), saved.output_nr) == ([1.0], 0)


def test_saved_integers_read_as_unsigned(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    assert torch.add(x, x, alpha=3).grad_fn._saved_alpha == 3
    node = x.sum(-1).grad_fn
    assert (node._saved_dim, node._saved_keepdim, node._saved_self_sym_sizes) == ((2**64 - 1,), False, (2,))
    assert x.pow(-3).grad_fn._saved_exponent == -3


def test_saved_attributes_are_read_only(torch: Any) -> None:
    node = (leaf(torch, 2.0) * 3).grad_fn
    with pytest.raises(AttributeError):
        node._saved_other = 3
    with pytest.raises(AttributeError):
        node._saved_nothing  # noqa: B018


def test_a_graph_that_saved_something_runs_once(torch: Any) -> None:
    x = leaf(torch, 2.0)
    z = (x * x).sum()
    z.backward()
    with pytest.raises(RuntimeError) as error:
        z.backward()
    assert str(error.value) == SECOND_TIME
    y = x * x
    y.backward(torch.tensor([1.0]))
    with pytest.raises(RuntimeError) as error:
        y.grad_fn._saved_self  # noqa: B018
    assert str(error.value) == SECOND_TIME


def test_a_graph_that_saved_nothing_runs_again(torch: Any) -> None:
    x = leaf(torch, 2.0)
    z = (x + x).sum()
    z.backward()
    z.backward()
    assert x.grad.tolist() == [4.0]


def test_retain_graph_keeps_saved_variables(torch: Any) -> None:
    x = leaf(torch, 2.0)
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.tolist() == [8.0]


def test_only_nodes_that_ran_release_their_variables(torch: Any) -> None:
    x = leaf(torch, 2.0)
    y = x.exp()
    torch.autograd.grad(y.sum(), y)
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([7.389056])


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("y = x.exp(); y.add_(1); z = y", modified("[torch.FloatTensor [2]], which is output 0 of Add,", 1)),
        ("y = x * 2; z = y * y; y.add_(1)", modified("[torch.FloatTensor [2]], which is output 0 of Add,", 1)),
        ("y = plain; z = x * y; y.add_(1)", modified("[torch.FloatTensor [2]]", 1)),
        ("y = plain.clone(); z = x * y; y.view(2, 1).add_(1)", modified("[torch.FloatTensor [2]]", 1)),
        ("y = x * 2; v = y.view(2, 1); z = v * v; y.add_(1)", None),
        ("y = plain.double(); z = x.double() * y; y.add_(1)", modified("[torch.DoubleTensor [2]]", 1)),
    ],
)
def test_changed_saved_tensor_is_an_error(torch: Any, program: str, text: str | None) -> None:
    if text is None:
        text = modified("[torch.FloatTensor [2, 1]], which is output 0 of AsStridedBackward0,", 1)
        text = text.replace("AsStridedBackward0", "AsStrided")
    names = {"x": leaf(torch, 1.0, 2.0), "plain": torch.tensor([3.0, 4.0])}
    exec(program, names)
    with pytest.raises(RuntimeError) as error:
        names["z"].sum().backward()
    if "exp" in program:  # an output names the operation that made it
        text = text.replace("of Add,", "of Exp,")
    assert str(error.value) == text


def test_saved_tensor_detached_in_place_is_an_error(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    z = y * y
    y.detach_()
    with pytest.raises(
        RuntimeError, match=r"^Trying to use a saved tensor that has been detached in-place, i\.e\. with"
    ):
        z.sum().backward()
    assert z.grad_fn._saved_self is y


def test_an_in_place_result_is_saved_with_the_new_version(torch: Any) -> None:
    y = leaf(torch, 0.0) * 1
    y.exp_()
    y.sum().backward()
    assert y._version == 1


def test_an_in_place_operation_saves_a_clone_of_the_old_value(torch: Any) -> None:
    x, w = leaf(torch, 2.0), leaf(torch, 3.0)
    y = x * 1
    y.mul_(w)
    saved = y.grad_fn._saved_self
    assert (saved.grad_fn.name(), saved.tolist()) == ("CloneBackward0", [2.0])
    assert saved.grad_fn._sequence_nr() == y.grad_fn._sequence_nr() + 1
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"
    y.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0], [2.0])


def same(value: Any) -> Any:
    return value


def hooked(torch: Any, function: Callable[[], Any], pack: Any = None, unpack: Any = same) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(pack or (lambda tensor: tensor.detach()), unpack):
        return function()


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


def test_each_thread_has_its_own_default_hooks(torch: Any) -> None:
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


def test_packed_objects_are_freed_with_the_graph(torch: Any) -> None:
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


def test_default_hooks_are_not_checked_while_there_are_none() -> None:
    plain = saved_variable_hooks._init
    assert SavedVariable.__init__ is plain
    with model.autograd.graph.saved_tensors_hooks(same, same):
        assert SavedVariable.__init__ is not plain
        with model.autograd.graph.saved_tensors_hooks(same, same):
            pass
        assert SavedVariable.__init__ is not plain
    assert SavedVariable.__init__ is plain


def test_packing_and_unpacking_are_recorded() -> None:
    def small(tensor: Any) -> list[float]:
        return list(tensor.tolist())

    def big(numbers: list[float]) -> Any:
        return model.tensor(numbers)

    x = leaf(model)
    with dispatchviz.record() as trace:
        y = hooked(model, x.exp, small, big)
        y.sum().backward()
    recorded = [(e.kind, e.function, e.packed) for e in trace if isinstance(e, events.SavedTensorHookRan)]
    assert recorded == [("pack hook", "small", "list"), ("unpack hook", "big", "list")]
    (made, _) = (e.tensor for e in trace if isinstance(e, events.SavedTensorHookRan))
    assert made == next(e.tensor for e in trace if isinstance(e, events.HistorySet))


def test_allow_mutation_on_saved_tensors_clones_them(torch: Any) -> None:
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


def test_handle_removes_the_extra_entries_of_its_hook(torch: Any) -> None:
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
def test_wrong_calls_of_multi_grad_hooks_are_errors(torch: Any, name: str, args: tuple[Any, ...], message: str) -> None:
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
