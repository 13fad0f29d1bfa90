"""Building the graph: who requires grad, which Nodes are made, where their edges go."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import dispatchviz


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def counter(torch: Any) -> int:
    """The number that the next Node takes is one more than this."""
    number: int = (leaf(torch, 1.0) * 1).grad_fn._sequence_nr()
    return number


def test_a_leaf(torch: Any) -> None:
    x = leaf(torch, 1.0)
    assert (x.is_leaf, x.requires_grad, x.grad_fn, x.output_nr) == (True, True, None, 0)


def test_an_operation_on_leaves(torch: Any) -> None:
    x, y = leaf(torch, 1.0), torch.tensor([2.0])
    z = torch.add(x, y)
    assert (z.is_leaf, z.requires_grad, z.output_nr, z.grad_fn.name()) == (False, True, 0, "AddBackward0")
    (to_x, first), to_y = z.grad_fn.next_functions
    assert to_x.variable is x
    assert (to_x.name(), first, to_y) == ("torch::autograd::AccumulateGrad", 0, (None, 0))
    assert to_x._sequence_nr() == 2**64 - 1
    assert z.grad_fn is z.grad_fn


def test_input_metadata(torch: Any) -> None:
    z = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True) * 2
    (entry,) = z.grad_fn._input_metadata
    assert (list(entry.shape), entry.dtype, str(entry.device)) == ([1, 2], torch.float64, "cpu")
    assert entry.is_nested_tensor is False


def test_the_same_leaf_twice_is_two_edges_to_one_accumulator(torch: Any) -> None:
    x = leaf(torch, 3.0)
    (first, _), (second, _) = (x * x).grad_fn.next_functions
    assert first is second


def test_a_number_gets_an_empty_edge(torch: Any) -> None:
    edges = (leaf(torch, 3.0) * 2).grad_fn.next_functions
    assert len(edges) == 2
    assert edges[1] == (None, 0)


def test_a_scalar_overload_has_one_edge(torch: Any) -> None:
    assert len((1 - leaf(torch, 3.0)).grad_fn.next_functions) == 1


def test_numbers_are_taken_by_recorded_operations_only(torch: Any) -> None:
    x, plain = leaf(torch, 1.0), torch.tensor([1.0])
    start = counter(torch)
    torch.add(plain, plain)
    with torch.no_grad():
        x * x
    assert (x * x).grad_fn._sequence_nr() == start + 1
    assert (x + x).grad_fn._sequence_nr() == start + 2


def test_a_thread_counts_for_itself(torch: Any) -> None:
    numbers: list[int] = []
    x = leaf(torch, 1.0)
    other = threading.Thread(target=lambda: numbers.extend((x * i).grad_fn._sequence_nr() for i in (1, 2)))
    other.start()
    other.join()
    assert numbers == [0, 1]


def test_no_grad_records_nothing_and_ends(torch: Any) -> None:
    x = leaf(torch, 1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_integers_and_comparisons_never_require_grad(torch: Any) -> None:
    x = leaf(torch, 1.0)
    assert not torch.gt(x, 0).requires_grad
    assert not torch.ones_like(x).requires_grad
    assert not x.detach().requires_grad


def test_the_accumulator_lives_as_long_as_a_graph_uses_it(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    y.grad_fn.next_functions[0][0]._set_sequence_nr(7)
    assert (x * 3).grad_fn.next_functions[0][0]._sequence_nr() == 7
    del y
    gc.collect()
    assert (x * 3).grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


def test_the_graph_keeps_its_leaves_alive_and_no_longer(torch: Any) -> None:
    x = leaf(torch, 1.0)
    watch = weakref.ref(x)
    y = x * 2
    del x
    assert watch() is not None
    del y
    gc.collect()
    assert watch() is None


def test_a_long_chain_can_be_built_run_and_freed(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x
    for _ in range(20_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    del y


def test_requires_grad_follows_the_base(torch: Any) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    view = x.view(4)
    assert not view.requires_grad
    x.requires_grad_()
    assert (view.requires_grad, view.is_leaf, view.grad_fn) == (True, True, None)
    with torch.no_grad():
        later = x.view(4)
    assert (later.requires_grad, later.is_leaf, later.grad_fn) == (True, True, None)


def test_detach_is_no_view(torch: Any) -> None:
    x = leaf(torch, 1.0)
    d = (x * 2).detach()
    assert (d.requires_grad, d.is_leaf, d._is_view()) == (False, True, False)
    d.add_(1)
    assert d._version == 1


NOT_A_LEAF = "you can only change requires_grad flags of leaf variables."
USE_DETACH = (
    f"{NOT_A_LEAF} If you want to use a computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)


def test_flags_of_computed_tensors_stay(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    for act, text in (
        (lambda: y.requires_grad_(False), USE_DETACH),
        (lambda: setattr(y, "requires_grad", False), USE_DETACH),
        (lambda: setattr(y, "requires_grad", True), NOT_A_LEAF),
        (lambda: setattr(y, "requires_grad", 1), "requires_grad must be a bool"),
    ):
        with pytest.raises(RuntimeError) as error:
            act()
        assert str(error.value) == text
    assert y.requires_grad_() is y


def test_only_floating_point_tensors_require_grad(torch: Any) -> None:
    whole = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point dtype can require gradients$"):
        whole.requires_grad_()
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point and complex dtype can require gradients$"):
        whole.requires_grad = True
    assert whole.requires_grad_(False) is whole


def test_detach_in_place(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    assert y.detach_() is y
    assert (y.is_leaf, y.requires_grad) == (True, False)
    view = (leaf(torch, 1.0) * 2).view(1, 1)
    with pytest.raises(RuntimeError, match=r"^Can't detach views in-place\. Use detach\(\) instead\."):
        view.detach_()


def test_out_is_not_differentiable(torch: Any) -> None:
    x = leaf(torch, 1.0)
    with pytest.raises(RuntimeError) as error:
        torch.exp(x, out=torch.tensor([0.0]))
    assert str(error.value) == (
        "exp(): functions with out=... arguments don't support automatic differentiation, "
        "but one of the arguments requires grad."
    )
    with torch.no_grad():
        assert not torch.exp(x, out=torch.tensor([0.0])).requires_grad


def test_inference_tensors(torch: Any) -> None:
    x = leaf(torch, 2.0)
    with torch.inference_mode():
        inside = torch.tensor([1.0])
        assert not (x * 2).requires_grad
        inside.add_(1)
    with pytest.raises(RuntimeError, match=r"^Inference tensors cannot be saved for backward\."):
        x * inside
    with pytest.raises(RuntimeError, match=r"^Inplace update to inference tensor outside InferenceMode is not allowed"):
        inside.add_(1)
    with pytest.raises(RuntimeError, match=r"^Inference tensors do not track version counter\.$"):
        inside._version  # noqa: B018
    with pytest.raises(RuntimeError, match=r"^Setting requires_grad=True on inference tensor outside InferenceMode"):
        inside.requires_grad_()
    assert (x + inside).requires_grad


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_node_is_neither_copied_nor_pickled(torch: Any, copied: Callable[[Any], Any], recorded: bool) -> None:
    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with dispatchviz.record() if recorded else nullcontext():
        x = leaf(torch, 1.0)
        for node, name in ((x * 2).grad_fn, "MulBackward0"), (Double.apply(x).grad_fn, "DoubleBackward"):
            with pytest.raises(TypeError, match=f"^cannot pickle '{name}' object$"):
                copied(node)
