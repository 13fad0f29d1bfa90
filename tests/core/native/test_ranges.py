"""``arange``, ``any`` along a dimension and ``bernoulli`` with a probability: operators that batch rules call."""

from __future__ import annotations

from typing import Any

import pytest

from dispatchviz import torch

ATEN = torch.ops.aten
X = torch.tensor([[0.0, 2.0], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("numbers", "result", "dtype"),
    [
        ((0, 4, 1), [0, 1, 2, 3], torch.int64),
        ((0, 2.5, 1), [0.0, 1.0, 2.0], torch.float32),
        ((1, 8, 3), [1, 4, 7], torch.int64),
        ((5, 0, -2), [5, 3, 1], torch.int64),
        ((0, 1, 0.25), [0.0, 0.25, 0.5, 0.75], torch.float32),
        ((0, 0, 1), [], torch.int64),
    ],
    ids=str,
)
def test_arange(numbers: tuple[Any, ...], result: list[Any], dtype: Any) -> None:
    found = ATEN.arange.start_step(*numbers)
    assert (found.tolist(), found.dtype) == (result, dtype)
    if (numbers[0], numbers[2]) == (0, 1):
        assert ATEN.arange(numbers[1]).tolist() == result


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0, 1, 0), "step must be nonzero"),
        ((0, 1, -1), "upper bound and lower bound inconsistent with step sign"),
        ((0, float("inf"), 1), "unsupported range: 0 -> inf"),
    ],
    ids=str,
)
def test_arange_that_leads_nowhere(numbers: tuple[Any, ...], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        ATEN.arange.start_step(*numbers)


def test_arange_resizes_its_output() -> None:
    with pytest.warns(UserWarning, match=r"shape \[5\] is 5 which does not match the computed number of elements 3"):
        assert ATEN.arange.start_out(0, 3, 1, out=torch.zeros(5)).tolist() == [0.0, 1.0, 2.0]


def test_any_along_a_dimension() -> None:
    assert torch.any(X, 0).tolist() == [False, True]
    assert torch.any(X, -1, keepdim=True).tolist() == [[True], [False]]
    assert torch.any(torch.zeros(0, 2), 0).tolist() == [False, False]
    assert torch.any(torch.tensor(3.0), 0).tolist() is True
    assert torch.any(torch.tensor([[0, 2]], dtype=torch.uint8), 1).dtype is torch.uint8
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.any(X, 2)


def test_bernoulli_with_a_probability() -> None:
    assert torch.bernoulli(X, 1.0).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert torch.bernoulli(X, 0.0).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match=r"bernoulli_ expects p to be in \[0, 1\], but got p=2"):
        torch.bernoulli(X, 2.0)
