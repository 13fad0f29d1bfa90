"""Nodes: numbers, names, what Python sees of them."""

from __future__ import annotations

import threading
import weakref

import pytest

import dispatchviz.torch as torch
from dispatchviz.core.autograd.graph import basic_nodes
from dispatchviz.core.autograd.graph.basic_nodes import Error, GraphRoot, Identity
from dispatchviz.core.autograd.graph.edge import EMPTY_EDGE, Edge
from dispatchviz.core.autograd.graph.node import MAX_SEQUENCE_NR, Node, TraceableFunction
from dispatchviz.core.thread.thread_state import thread

from .fake_nodes import FakeNode, run


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
def test_numbers_that_do_not_fit(number: object, error: type[Exception], text: str) -> None:
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
    middle.add_next_edge(EMPTY_EDGE)  # nobody has asked for its number yet
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
def test_names(node: Node, name: str, forward: str) -> None:
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


def test_not_implemented_says_of_what() -> None:
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
def test_of_several_gradients_only_the_wanted_ones_come_out(inputs: str | None, given: list[bool]) -> None:
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
