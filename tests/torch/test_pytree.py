"""Trees: errors, user-defined containers, and how structures are printed and broadcast."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz import torch
from dispatchviz.torch.utils import _pytree as pytree
from dispatchviz.torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

TREES = st.recursive(
    st.none() | st.integers(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner),
)


@pytest.mark.long
@given(TREES)
def test_a_tree_is_its_leaves_and_its_shape(tree: Any) -> None:
    leaves, spec = pytree.tree_flatten(tree)
    assert pytree.tree_unflatten(leaves, spec) == tree
    assert spec.num_leaves == len(leaves)
    assert pytree.tree_map(lambda leaf: leaf, tree) == tree


def test_containers_keep_their_class() -> None:
    counts: defaultdict[str, int] = defaultdict(int, a=1)
    queue = deque([1, 2], maxlen=3)
    mapped = pytree.tree_map(lambda n: n + 1, [counts, queue])
    assert mapped == [defaultdict(int, a=2), deque([2, 3])]
    assert (mapped[0].default_factory, mapped[1].maxlen) == (int, 3)


def test_a_subclass_of_a_container_is_a_leaf() -> None:
    class Mine(list[int]):
        pass

    mine = Mine([1])
    assert pytree.tree_leaves([mine])[0] is mine


def test_a_registered_user_class_is_a_container() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda pair: ([pair.a, pair.b], None), lambda parts, _: Pair(*parts))
    mapped = pytree.tree_map(lambda n: n * 2, Pair(1, [2]))
    assert (mapped.a, mapped.b) == (2, [4])
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(Pair, lambda pair: ([], None), lambda parts, _: None)


def test_a_wrong_number_of_leaves_raises() -> None:
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure((1, 2)))


def test_mapping_trees_of_different_shapes_raises() -> None:
    with pytest.raises(ValueError, match="Node type mismatch"):
        pytree.tree_map(max, [1], (1,))
    with pytest.raises(ValueError, match="Node arity mismatch"):
        pytree.tree_map(max, [1], [1, 2])


Pair = namedtuple("Pair", "a b")


def test_a_structure_prints_as_in_pytorch() -> None:
    spec = tree_flatten((1, [2, {"a": 3}], torch.Size([2])))[1]
    assert repr(spec) == (
        "TreeSpec(tuple, None, [*,\n  TreeSpec(list, None, [*,\n    TreeSpec(dict, ['a'], [*])]),\n"
        "  TreeSpec(Size, None, [*])])"
    )
    assert repr(tree_flatten({})[1]) == "TreeSpec(dict, [], [])"
    assert repr(tree_flatten(Pair(1, 2))[1]).startswith("TreeSpec(namedtuple, <class '")


def test_a_size_comes_back_as_a_tuple() -> None:
    assert type(tree_unflatten(*tree_flatten(torch.Size([2])))) is tuple


@pytest.mark.parametrize(
    ("tree", "target", "expected"),
    [
        ((0, {"a": 1}), (1, OrderedDict(a=[1, 2])), [0, 1, 1]),
        ((0, Pair(1, 2)), (1, Pair([1, 2], 3)), [0, 1, 1, 2]),
        ((0, (1, 2)), (1, Pair([1, 2], 3)), None),
        ({"a": 1, "b": 2}, {"b": [1, 1], "a": 2}, [1, 2, 2]),
        (7, ((1, 2), 3), [7, 7, 7]),
        ((0, 1), (1,), None),
        ({"a": 1}, {"b": 1}, None),
    ],
)
def test_broadcast_repeats_leaves_or_returns_none(tree: Any, target: Any, expected: list[int] | None) -> None:
    found = _broadcast_to_and_flatten(tree, tree_flatten(target)[1])
    assert found == expected
