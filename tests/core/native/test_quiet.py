"""Kernels are as quiet as C++: NumPy's warnings of overflow, division by zero and nan do not reach the program."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

from dispatchviz import torch

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
        warnings.filterwarnings("ignore", "Casting complex values to real")  # PyTorch's own, given once
        for text in LOUD:
            eval(text, {"torch": torch, "x": torch.tensor([1.0, 2.0, 3.0, 4.0])})


def test_no_warning() -> None:
    run_all()


def test_no_warning_in_another_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run_all).result()


def test_the_programs_own_numpy_still_warns() -> None:
    run_all()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        numpy.ones(1) / numpy.zeros(1)
