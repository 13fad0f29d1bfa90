"""Strides of results, views and expanded tensors, for random geometries that PyTorch was asked about."""

from __future__ import annotations

from typing import Any

import pytest

from dispatchviz.core.native.iterator.infer_size import compute_stride, expanded_geometry
from dispatchviz.core.native.iterator.strides import result_geometry
from truth.questions.native_kernels import stored

pytestmark = pytest.mark.record("native_kernels/geometries")

Pair = list[list[int]]


def pair(geometry: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(geometry[0]), tuple(geometry[1])


def test_results_of_elementwise_kernels() -> None:
    for operands, result in stored()["geometry"]:
        assert result_geometry(tuple(map(pair, operands))) == pair(result), operands


def test_views() -> None:
    for size, stride, shape, expected in stored()["views"]:
        found = compute_stride(tuple(size), tuple(stride), tuple(shape))
        assert found == (None if expected is None else tuple(expected)), (size, stride, shape)


def _expanded(size: list[int], stride: list[int], target: list[int]) -> Any:
    try:
        return expanded_geometry(tuple(size), tuple(stride), tuple(target))
    except RuntimeError:
        return None


def test_expanded() -> None:
    for size, stride, target, expected in stored()["expanded"]:
        if not size and any(length < 0 for length in target):
            continue  # refused by as_strided, later
        assert _expanded(size, stride, target) == (None if expected is None else pair(expected)), (size, stride, target)
