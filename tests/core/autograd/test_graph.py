"""The graph and its Nodes."""

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
import dispatchviz.torch as torch
from dispatchviz.core.autograd.graph import basic_nodes
from dispatchviz.core.autograd.graph.basic_nodes import Error, GraphRoot, Identity
from dispatchviz.core.autograd.graph.edge import EMPTY_EDGE, Edge
from dispatchviz.core.autograd.graph.node import MAX_SEQUENCE_NR, Node, TraceableFunction
from dispatchviz.core.thread.thread_state import thread

from .fake_nodes import FakeNode, run
from .leaves import leaf


def counter(torch: Any) -> int:
    """Return a number that is one less than that of the next Node."""
    number: int = (leaf(torch, 1.0) * 1).grad_fn._sequence_nr()
    return number


def test_leaf_has_no_grad_fn(torch: Any) -> None:
    x = leaf(torch, 1.0)
    assert (x.is_leaf, x.requires_grad, x.grad_fn, x.output_nr) == (True, True, None, 0)


def test_operation_on_leaves_has_edges_to_accumulators(torch: Any) -> None:
    x, y = leaf(torch, 1.0), torch.tensor([2.0])
    z = torch.add(x, y)
    assert (z.is_leaf, z.requires_grad, z.output_nr, z.grad_fn.name()) == (False, True, 0, "AddBackward0")
    (to_x, first), to_y = z.grad_fn.next_functions
    assert to_x.variable is x
    assert (to_x.name(), first, to_y) == ("torch::autograd::AccumulateGrad", 0, (None, 0))
    assert to_x._sequence_nr() == 2**64 - 1
    assert z.grad_fn is z.grad_fn


def test_input_metadata_has_shape_dtype_and_device(torch: Any) -> None:
    z = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True) * 2
    (entry,) = z.grad_fn._input_metadata
    assert (list(entry.shape), entry.dtype, str(entry.device)) == ([1, 2], torch.float64, "cpu")
    assert entry.is_nested_tensor is False


def test_same_leaf_twice_has_two_edges_to_one_accumulator(torch: Any) -> None:
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


def test_each_thread_counts_its_own_nodes(torch: Any) -> None:
    numbers: list[int] = []
    x = leaf(torch, 1.0)
    other = threading.Thread(target=lambda: numbers.extend((x * i).grad_fn._sequence_nr() for i in (1, 2)))
    other.start()
    other.join()
    assert numbers == [0, 1]


def test_no_grad_records_nothing_until_it_ends(torch: Any) -> None:
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


def test_leaves_live_as_long_as_their_graph(torch: Any) -> None:
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


def test_detach_does_not_make_a_view(torch: Any) -> None:
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


def test_flags_of_computed_tensors_cannot_change(torch: Any) -> None:
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


def test_only_floating_point_tensors_can_require_grad(torch: Any) -> None:
    whole = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point dtype can require gradients$"):
        whole.requires_grad_()
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point and complex dtype can require gradients$"):
        whole.requires_grad = True
    assert whole.requires_grad_(False) is whole


def test_detach_in_place_drops_the_history(torch: Any) -> None:
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


def test_inference_tensors_have_no_version_and_no_autograd_keys(torch: Any) -> None:
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


class AddBackward0(TraceableFunction):
    __slots__ = ("alpha", "dim")
    saved_attributes = ("alpha", "dim")
    saved_integers = ("dim",)


class AddBackward1(TraceableFunction):
    __slots__ = ()


def test_numbers_count_up_per_constructed_node() -> None:
    first = AddBackward0()
    assert AddBackward0().sequence_nr == first.sequence_nr + 1
    assert Error("x").sequence_nr == basic_nodes.NotImplemented("aten::bincount").sequence_nr == MAX_SEQUENCE_NR
    assert Identity().sequence_nr == first.sequence_nr + 2
    assert GraphRoot([], []).sequence_nr == first.sequence_nr + 3
    assert thread.state.sequence_nr == first.sequence_nr + 4


def test_every_thread_counts_from_zero() -> None:
    numbers: list[tuple[int, int]] = []
    here = AddBackward0().thread_id

    def build() -> None:
        numbers.extend((node.sequence_nr, node.thread_id) for node in (AddBackward0(), AddBackward0()))

    other = threading.Thread(target=build)
    other.start()
    other.join()
    assert [number for number, _ in numbers] == [0, 1]
    assert numbers[0][1] == numbers[1][1] != here


def test_setting_the_number_leaves_the_counter_alone() -> None:
    node = AddBackward0()
    node._set_sequence_nr(MAX_SEQUENCE_NR)
    assert node._sequence_nr() == MAX_SEQUENCE_NR
    following = AddBackward0().sequence_nr
    assert AddBackward0().sequence_nr == following + 1 < 2**32


@pytest.mark.parametrize(
    ("number", "error", "text"),
    [
        (-1, OverflowError, "can't convert negative int to unsigned"),
        (2**64, OverflowError, "int too big to convert"),
        (1.5, TypeError, "an integer is required"),
        ("a", TypeError, "an integer is required"),
    ],
)
def test_sequence_number_out_of_range_is_an_error(number: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"^{text}$"):
        AddBackward0()._set_sequence_nr(number)  # type: ignore[arg-type]


def test_topological_number_is_the_longest_path() -> None:
    leaf = FakeNode("leaf", [])
    short = FakeNode("short", [], [leaf])
    long = FakeNode("long", [], [short])
    top = FakeNode("top", [], [leaf, None, long, short])
    assert [node.topological_nr() for node in (leaf, short, long, top)] == [0, 1, 2, 3]


def test_an_edge_cannot_be_added_below_a_parent() -> None:
    leaf = FakeNode("leaf", [])
    middle = FakeNode("middle", [], [leaf])
    middle.add_next_edge(EMPTY_EDGE)  # its number has not been read yet
    FakeNode("top", [], [middle])
    for change in (
        lambda: middle.add_next_edge(Edge(leaf, 0)),
        lambda: middle.set_next_edge(0, Edge(leaf, 0)),
        lambda: middle.set_next_edges([Edge(leaf, 0)]),
    ):
        with pytest.raises(RuntimeError, match="Cannot update a node's topological_nr after it already has a parent"):
            change()


def test_reading_the_topological_number_counts_as_having_a_parent() -> None:
    node = FakeNode("node", [])
    node.topological_nr()
    with pytest.raises(RuntimeError, match="already has a parent"):
        node.add_next_edge(EMPTY_EDGE)


@pytest.mark.parametrize(
    ("node", "name", "forward"),
    [
        (AddBackward0(), "AddBackward0", "Add"),
        (AddBackward1(), "AddBackward1", "Add1"),
        (Identity(), "torch::autograd::Identity", "torch::autograd::Identity"),
        (
            basic_nodes.NotImplemented("aten::bincount"),
            "torch::autograd::NotImplemented",
            "torch::autograd::NotImplemented",
        ),
    ],
)
def test_nodes_have_pytorchs_names(node: Node, name: str, forward: str) -> None:
    assert node.name() == name
    assert node.forward_op_name() == forward
    assert repr(node).startswith(f"<{name.removeprefix('torch::autograd::')} object at 0x")


def test_next_functions_keep_empty_edges_in_their_place() -> None:
    leaf = FakeNode("leaf", [])
    node = FakeNode("node", [], [None, leaf])
    assert node.next_functions == ((None, 0), (leaf, 0))
    assert [node.should_compute_output(i) for i in (0, 1)] == [False, True]


def test_saved_integers_read_as_unsigned() -> None:
    node = AddBackward0()
    node.alpha, node.dim = -2.5, (-1, 1)  # type: ignore[attr-defined]
    assert node._saved_alpha == -2.5  # type: ignore[attr-defined]
    assert node._saved_dim == (18446744073709551615, 1)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        node._saved_alpha = 3  # type: ignore[attr-defined]


def test_metadata_is_one_dict_per_node() -> None:
    node = AddBackward0()
    node.metadata["note"] = 1
    assert node.metadata == {"note": 1}
    assert AddBackward0().metadata == {}


def test_calling_a_node_checks_its_arguments() -> None:
    node = FakeNode("node", [], [None, None])
    with pytest.raises(TypeError, match=r"^expected 1 arguments, got 2 instead$"):
        node(None, None)
    with pytest.raises(TypeError, match=r"^argument 0 is not a Variable$"):
        node(3)  # type: ignore[arg-type]
    assert node(None) == (None, None)
    assert FakeNode("node", [], [None])(None) is None


def test_not_implemented_node_names_the_operator() -> None:
    with pytest.raises(RuntimeError, match=r"^derivative for aten::bincount is not implemented$"):
        basic_nodes.NotImplemented("aten::bincount").apply([None])


def test_a_chain_of_100000_nodes_runs_and_is_freed_without_recursion() -> None:
    log: list[str] = []
    node: Node = FakeNode("leaf", log)
    last = weakref.ref(node)
    for _ in range(100_000):
        node = FakeNode("link", log, [node])
    assert node.topological_nr() == 100_000
    run(node)
    assert len(log) == 100_001
    del node
    assert last() is None


@pytest.mark.parametrize(("inputs", "given"), [(None, [True, True]), ("b", [False, True]), ("a", [True, False])])
def test_only_wanted_gradients_are_returned(inputs: str | None, given: list[bool]) -> None:
    """``copy_range`` within ``task_should_compute_output`` of Functions.cpp: a post hook sees None for the others."""
    leaves = {name: torch.tensor([1.0, 2.0], requires_grad=True) for name in "ab"}
    result = torch.atan2(*leaves.values())
    seen: list[bool] = []
    result.grad_fn.register_hook(lambda outputs, _: seen.extend(gradient is not None for gradient in outputs))
    result.sum().backward(inputs=None if inputs is None else [leaves[inputs]])
    assert seen == given


def test_an_empty_edge_gets_no_gradient_either() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    result = torch.atan2(x, torch.ones(2))
    seen: list[bool] = []
    result.grad_fn.register_hook(lambda outputs, _: seen.extend(gradient is not None for gradient in outputs))
    result.sum().backward()
    assert seen == [True, False]
