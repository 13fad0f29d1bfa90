"""Dtypes against PyTorch: all pairs promoted, cast, met as tensors, 0-dim tensors and numbers; bfloat16's numbers."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dispatchviz import torch
from dispatchviz.core.tensor import dtype as dtypes
from truth import records

pytestmark = pytest.mark.record("dtypes")

ROOT = Path(__file__).parents[2]
DTYPES = [dtype.name for dtype in dtypes.ALL]
COMPLEX32 = ("torch.complex32", "torch.bcomplex32")
"""NB: in PyTorch, halves and complex numbers give these dtypes, which the model does not have."""


@functools.cache
def stored() -> dict[str, Any]:
    found: dict[str, Any] = records.read("dtypes")
    return found


def named(name: str) -> dtypes.DType:
    found: dtypes.DType = getattr(torch, name)
    return found


def operand(text: str) -> Any:
    """``float16[2]``, ``float16[]``, ``2.5``."""
    if "[" not in text:
        return {"True": True, "3": 3, "2.5": 2.5, "1j": 1j}[text]
    dtype, _, size = text.partition("[")
    return torch.ones((2,) if size == "2]" else (), dtype=named(dtype))


def test_stored_dtypes_are_those_of_the_model() -> None:
    assert sorted(stored()["promote_types"]) == sorted(DTYPES)


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_promotion_and_casting_equal_pytorchs(a: str, b: str) -> None:
    expected = stored()["promote_types"][a][b]
    if expected not in COMPLEX32:
        assert str(dtypes.promote_types(named(a), named(b))) == expected
    assert dtypes.can_cast(named(a), named(b)) == stored()["can_cast"][a][b]


def test_result_types_equal_pytorchs() -> None:
    wrong = []
    for a, b, expected in stored()["result_type"]:
        found = str(torch.result_type(operand(a), operand(b)))
        if found != expected and expected not in COMPLEX32:
            wrong.append((a, b, expected, found))
    assert not wrong


def test_bfloat16_numbers_equal_pytorchs() -> None:
    assert str(torch.bfloat16) == "torch.bfloat16"
    assert torch.bfloat16.itemsize == 2
    assert torch.bfloat16.is_floating_point
    assert not torch.bfloat16.is_complex


@pytest.mark.parametrize(
    ("number", "nearest"),
    [
        (1 + 2**-8, 1.0),
        (1 + 3 * 2**-8, 1 + 2**-6),
        (1e39, math.inf),
        (3.39e38, 3.3895313892515355e38),
        (0.1, 0.10009765625),
    ],
)
def test_rounding_is_to_the_nearest_even(number: float, nearest: float) -> None:
    assert torch.tensor(number, dtype=torch.bfloat16).item() == nearest
    assert torch.tensor(number, dtype=torch.float64).to(torch.bfloat16).item() == nearest


def test_bfloat16_sums_are_computed_in_float32() -> None:
    many = torch.ones(1000, dtype=torch.bfloat16)
    assert many.sum().item() == 1000  # in bfloat16 257 of them are 256
    assert many.mean().item() == 1
    assert torch.dot(many, many).item() == 1000
    assert torch.mm(many.view(1, 1000), many.view(1000, 1)).item() == 1000


def test_python_number_is_not_rounded_to_bfloat16() -> None:
    x = torch.tensor([1.1015625], dtype=torch.bfloat16)
    assert (x * 0.3).item() == torch.tensor(1.1015625 * 0.3, dtype=torch.bfloat16).item()
    rounded = torch.tensor(0.3, dtype=torch.bfloat16).item()
    assert (x * 0.3).item() != torch.tensor(1.1015625 * rounded, dtype=torch.bfloat16).item()


@pytest.mark.torch
def test_stored_answers_equal_pytorchs() -> None:
    pytest.importorskip("torch")
    check = [sys.executable, "-m", "truth.record", "--check", "dtypes"]
    found = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
