"""Python numbers and roundings in half and bfloat16, compared with a live PyTorch.

C++ rounds a double to a float before it makes a half of it. A number just beside the middle of two halves shows that:
rounded twice it gives one neighbor, rounded once the other.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from dispatchviz import torch as model

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

NUMBERS = {
    "float16": (1.00048828125 + 1e-10, -1.00048828125 - 1e-10),
    "bfloat16": (1.00390625 + 1e-10, -5.3906251698921555, 5.3906251698921555),
}
EXPRESSIONS = [
    *("t.tensor(number, dtype=d)", "t.tensor([number, 2.0], dtype=d)", "t.as_tensor([number], dtype=d)"),
    *("t.full((2,), number, dtype=d)", "t.full_like(x, number)", "x.new_full((2,), number)", "x.new_tensor(number)"),
    *("t.scalar_tensor(number, dtype=d)", "x.fill_(number)", "t.ones(2, 2, dtype=d).fill_diagonal_(number)"),
    *("x.masked_fill(t.tensor([True, False]), number)", "x.index_fill(0, t.tensor([1]), number)"),
    *("x.scatter(0, t.tensor([1]), number)", "x.__setitem__(1, number) or x", "x.__setitem__(x == 1, number) or x"),
    *("x + number", "x - number", "number - x", "x * number", "x / number", "number / x", "x.add(x, alpha=number)"),
    *("x.pow(number)", "x.lerp(x + 1, number)", "x.addcmul(x, x, value=number)", "x.addcdiv(x, x, value=number)"),
    *("t.remainder(x, number)", "t.fmod(x, number)", "t.floor_divide(x * 3, number)", "t.special.xlogy(x, number)"),
    *("x > number", "t.tensor([number], dtype=d) == number", "t.tensor(number, dtype=t.float64).to(d) == number"),
    *("t.where(t.tensor([True, False]), number, x)", "x.clamp(number, number)", "x.clamp(min=number)"),
    *("t.nn.functional.threshold(x, 2.0, number)", "t.nn.functional.pad(x, (1, 1), value=number)"),
    *("t.nn.functional.hardtanh(x, number, number)", "t.nn.functional.leaky_relu(-x, number)"),
    *("t.nn.functional.elu(-x, number)", "t.nn.functional.softplus(x, number)", "t.nn.init.constant_(x, number)"),
    *("t.linspace(number, 2 * number, 3, dtype=d)", "t.logspace(number, number, 2, dtype=d)"),
    *("t.arange(number, number + 2, 1, dtype=d)", "x.index_add(0, t.tensor([0]), x[:1], alpha=number)"),
    *("t.nan_to_num(x * float('nan'), nan=number)", "x.uniform_(number, number)", "x.normal_(number, 0)"),
    *("t._foreach_add([x], number)[0]", "t._foreach_mul([x], number)[0]", "(x * 0.6).logit(0.3)", "(x * 0.6).logit()"),
    *("setattr(x, 'real', number) or x", "t.renorm(t.ones(2, 2, dtype=d) * 9, 2, 0, abs(number))"),
]


def value(t: Any, expression: str, dtype: str, number: float) -> str:
    d = getattr(t, dtype)
    return str(eval(expression, {"t": t, "d": d, "x": t.ones(2, dtype=d), "number": number}).tolist())


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_number_is_rounded_as_in_pytorch(expression: str) -> None:
    cases = [*itertools.chain(*(itertools.product([dtype], numbers) for dtype, numbers in NUMBERS.items()))]
    ours, pytorchs = ([value(t, expression, *case) for case in cases] for t in (model, torch))
    assert ours == pytorchs


STEPS = [
    *("t.div(x, n, rounding_mode='floor')", "t.div(x, n, rounding_mode='trunc')", "x // n", "n // x", "x / n", "x * n"),
    *("t.floor_divide(x, t.tensor(n))", "x.floor_divide_(n)", "x.div_(n, rounding_mode='trunc')"),
    *("t.sigmoid(x).logit()", "t.sigmoid(x).logit(0.3)", "t.ops.aten.logit_backward(x, t.sigmoid(x), 0.3)"),
    *("t.ops.aten.logit_backward(x, x, -0.1)", "t.ops.aten.logit_backward(x, x, None)"),
]


@pytest.mark.parametrize("expression", STEPS)
def test_steps_are_rounded_as_in_pytorch(expression: str) -> None:
    draw = random.Random(len(expression))
    for dtype in (*NUMBERS, "float32", "float64") if "logit" not in expression else NUMBERS:
        for number in (0.0, 0.1, 3, *(draw.uniform(-3, 3) for _ in range(20))):
            numbers = [draw.gauss(0, 5) for _ in range(40)]
            ours, pytorchs = (of_numbers(t, expression, dtype, numbers, number) for t in (model, torch))
            assert ours == pytorchs, (dtype, number)


def of_numbers(t: Any, expression: str, dtype: str, numbers: list[float], number: float) -> str:
    return str(eval(expression, {"t": t, "x": t.tensor(numbers, dtype=getattr(t, dtype)), "n": number}).tolist())


OVERFLOWING = [
    *(
        "t.full((1,), n, dtype=d)",
        "t.full((2,), n, dtype=d)",
        "t.scalar_tensor(n, dtype=d)",
        "x.fill_(n)",
        "x[:1].fill_(n)",
    ),
    *(
        "x[0].fill_(n)",
        "x.__setitem__(0, n) or x",
        "setattr(x, 'real', n) or x",
        "setattr(x, 'real', str(n))",
        "t.where(x > 0, n, x)",
        "x + n",
        "x * n",
    ),
    *("x.masked_fill(x > 0, n)", "x.clamp(min=n)", "t.linspace(0, n, 2, dtype=d)", "x.index_fill(0, t.tensor([0]), n)"),
]


@pytest.mark.parametrize("expression", OVERFLOWING)
def test_a_number_overflows_as_in_pytorch(expression: str) -> None:
    for dtype, number in (("float16", 1e6), ("float16", -65510.0), ("bfloat16", 1e300), ("float32", 1e300)):
        assert outcome(model, expression, dtype, number) == outcome(torch, expression, dtype, number), (dtype, number)


def outcome(t: Any, expression: str, dtype: str, number: float) -> str:
    d = getattr(t, dtype)
    try:
        return str(eval(expression, {"t": t, "d": d, "x": t.ones(2, dtype=d), "n": number}).tolist())
    except (RuntimeError, TypeError) as error:
        return str(error)
