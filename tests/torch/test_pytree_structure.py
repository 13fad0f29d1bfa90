"""Structures print as PyTorch's do, and a smaller tree broadcasts to a larger one (``vmap``'s in_dims)."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import pytest

from dispatchviz import torch
from dispatchviz.torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

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
def test_broadcasting(tree: Any, target: Any, expected: list[int] | None) -> None:
    found = _broadcast_to_and_flatten(tree, tree_flatten(target)[1])
    assert found == expected
