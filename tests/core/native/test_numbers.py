"""Results of single kernels: the error function, ranges, and the absence of NumPy's warnings."""

from __future__ import annotations

import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest

from dispatchviz import torch
from dispatchviz.core.native.special.error_function import error_function


def test_float32_erf_is_the_c_librarys_rounded_once() -> None:
    small = 10.0 ** numpy.linspace(-40, 0, 4001)
    points = numpy.concatenate([numpy.linspace(-6, 6, 40001), small, -small, [0.0, math.inf, -math.inf]])
    points = points.astype("float32")
    expected = numpy.array([math.erf(x) for x in points.tolist()]).astype("float32")
    assert numpy.array_equal(error_function("cpu")(points), expected)


def test_erf_keeps_the_sign_of_zero_and_nan() -> None:
    zero, nan = error_function("cpu")(numpy.array([-0.0, math.nan], "float32"))
    assert numpy.signbit(zero)
    assert numpy.isnan(nan)


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
def test_arange_gives_numbers_and_dtype(numbers: tuple[Any, ...], result: list[Any], dtype: Any) -> None:
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
def test_arange_with_an_invalid_step_is_refused(numbers: tuple[Any, ...], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        ATEN.arange.start_step(*numbers)


def test_arange_resizes_its_output() -> None:
    with pytest.warns(UserWarning, match=r"shape \[5\] is 5 which does not match the computed number of elements 3"):
        assert ATEN.arange.start_out(0, 3, 1, out=torch.zeros(5)).tolist() == [0.0, 1.0, 2.0]


def test_any_reduces_a_dimension() -> None:
    assert torch.any(X, 0).tolist() == [False, True]
    assert torch.any(X, -1, keepdim=True).tolist() == [[True], [False]]
    assert torch.any(torch.zeros(0, 2), 0).tolist() == [False, False]
    assert torch.any(torch.tensor(3.0), 0).tolist() is True
    assert torch.any(torch.tensor([[0, 2]], dtype=torch.uint8), 1).dtype is torch.uint8
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.any(X, 2)


def test_bernoulli_with_probability_0_or_1_is_constant() -> None:
    assert torch.bernoulli(X, 1.0).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert torch.bernoulli(X, 0.0).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match=r"bernoulli_ expects p to be in \[0, 1\], but got p=2"):
        torch.bernoulli(X, 2.0)


LOUD = (
    "x * 1e38",
    "x / 0",
    "(x - x) / (x - x)",
    "(-x).log()",
    "(x - x).log()",
    "(x * 100).exp()",
    "(x - x).reciprocal()",
    "(-x) ** 0.5",
    "x ** 100",
    "(x * 1e30).double() * 1e300",
    "(x.double() * 1e300).float()",
    "(x * 1e6).half()",
    "(x / 0).long()",
    "torch.tensor([1j]).float()",
    "(x / 0 - x / 0).sum()",
    "torch.zeros(0).mean()",
    "(x * 3e38).sum()",
    "torch.div(x, x - x, rounding_mode='floor')",
    "(x * 1e38).view(2, 2) @ (x * 1e38).view(2, 2)",
    "torch.tensor([127], dtype=torch.int8) + 1",
    "torch.full((2,), 3e38).add_(3e38)",
    "torch.empty(4).normal_(3e38, 3e38)",
)


def run_all() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Casting complex values to real")  # PyTorch gives it once
        for text in LOUD:
            eval(text, {"torch": torch, "x": torch.tensor([1.0, 2.0, 3.0, 4.0])})


def test_overflow_and_division_by_zero_give_no_warning() -> None:
    run_all()


def test_another_thread_gives_no_warning() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run_all).result()


def test_the_programs_own_numpy_still_warns() -> None:
    run_all()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        numpy.ones(1) / numpy.zeros(1)
