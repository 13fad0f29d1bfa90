"""Every kernel compared with PyTorch's stored answers: calls, results, errors, strides; and a check of the stored
answers.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.native.iterator.infer_size import compute_stride, expanded_geometry
from dispatchviz.core.native.iterator.strides import result_geometry
from tests.amounts import some
from tests.core.native.answers import answer, assert_same, gradient_answer
from truth.questions import native_kernels as questions
from truth.questions.native_kernels import stored

EXPRESSIONS = questions.stored()["expressions"]
DTYPES = questions.stored()["dtypes"]
GRADIENTS = questions.stored()["gradients"]

DIFFERENT = {"(lambda x: x.as_strided((2,2),(1,1)).mul_(2))(torch.ones(3))": "NB: in PyTorch, overlaps are read back"}
"""Expressions whose answer differs from PyTorch's, with the reason."""


def rounding(expression: str) -> float:
    """The tolerance: half has 11 bits, and PyTorch adds up in another order."""
    return 2e-3 if "float16" in expression or "H" in expression else 2e-6


@pytest.mark.record("native_kernels")
def test_stored_answers_cover_all_questions() -> None:
    assert list(EXPRESSIONS) == questions.expressions()
    assert list(DTYPES) == questions.dtype_expressions()
    assert list(GRADIENTS) == questions.gradients()


@pytest.mark.record("native_kernels")
@pytest.mark.parametrize("expression", [text for text in EXPRESSIONS if text not in DIFFERENT])
def test_expression(expression: str) -> None:
    assert_same(answer(expression), EXPRESSIONS[expression], rounding(expression))


@pytest.mark.record("native_kernels")
@pytest.mark.parametrize("expression", DIFFERENT)
def test_listed_differences_still_differ(expression: str) -> None:
    with pytest.raises(AssertionError):
        assert_same(answer(expression), EXPRESSIONS[expression])


@pytest.mark.record("native_kernels")
@pytest.mark.long
@pytest.mark.parametrize("dtype", some(questions.DTYPES, 3))
def test_dtypes(dtype: str) -> None:
    """Compare all expressions whose first tensor has this dtype."""
    mine = [text for text in DTYPES if text.partition("dtype=torch.")[2].startswith((f"{dtype})", f"{dtype},"))]
    assert len(mine) > 100
    for text in mine:
        try:
            assert_same(answer(text), DTYPES[text], rounding(text))
        except AssertionError as error:
            raise AssertionError(f"{text}: {error}") from None


@pytest.mark.record("native_kernels")
@pytest.mark.parametrize("gradient", GRADIENTS)
def test_gradient(gradient: str) -> None:
    """Compare the calls of backward, the Node with its saved values, and the gradients."""
    assert_same(gradient_answer(gradient), GRADIENTS[gradient])


Pair = list[list[int]]


def pair(geometry: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(geometry[0]), tuple(geometry[1])


@pytest.mark.record("native_kernels/geometries")
def test_elementwise_results_have_pytorchs_strides() -> None:
    for operands, result in stored()["geometry"]:
        assert result_geometry(tuple(map(pair, operands))) == pair(result), operands


@pytest.mark.record("native_kernels/geometries")
def test_view_strides_are_pytorchs() -> None:
    for size, stride, shape, expected in stored()["views"]:
        found = compute_stride(tuple(size), tuple(stride), tuple(shape))
        assert found == (None if expected is None else tuple(expected)), (size, stride, shape)


def _expanded(size: list[int], stride: list[int], target: list[int]) -> Any:
    try:
        return expanded_geometry(tuple(size), tuple(stride), tuple(target))
    except RuntimeError:
        return None


@pytest.mark.record("native_kernels/geometries")
def test_expanded_geometry_is_pytorchs() -> None:
    for size, stride, target, expected in stored()["expanded"]:
        if not size and any(length < 0 for length in target):
            continue  # as_strided refuses it later
        assert _expanded(size, stride, target) == (None if expected is None else pair(expected)), (size, stride, target)


@pytest.mark.torch
@pytest.mark.record("native_kernels")
@pytest.mark.long
@pytest.mark.pinned
def test_stored_answers_are_still_pytorchs() -> None:
    pytest.importorskip("torch")
    check = [sys.executable, "-m", "truth.record", "--check", "native_kernels"]
    found = subprocess.run(check, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
