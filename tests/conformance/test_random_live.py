"""Random numbers compared with a live PyTorch, bit for bit: random calls one after the other with one generator."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dispatchviz import torch as model

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

_FILLS = (
    "normal_()", "normal_(1.25, 0.3)", "uniform_()", "uniform_(-1.3, 2.7)", "exponential_()", "exponential_(2.5)",
    "cauchy_(0.5, 1.5)", "log_normal_(0.5, 0.25)", "geometric_(0.3)", "bernoulli_(0.4)", "random_()", "random_(7)",
    "random_(-5, 200)",
)  # fmt: skip
_DTYPES = ("float32", "float64", "float16", "bfloat16")
_CALLS = (
    "torch.randn({n}, dtype=torch.{dtype})",
    "torch.rand({n}, dtype=torch.{dtype})",
    "torch.randint(-7, {n} + 1, ({n},))",
    "torch.randint(2**40, ({n},))",
    "torch.randperm({n})",
    "torch.bernoulli(torch.full(({n},), 0.3, dtype=torch.{dtype}))",
    "torch.dropout(torch.ones({n}, dtype=torch.{dtype}), 0.3, True)",
    "torch.normal(torch.zeros({n}), torch.ones({n}))",
    "torch.multinomial(torch.rand({n}) + 0.1, {n}, True)",
    "torch.randn({n}, dtype=torch.complex64)",
)


def _expression(choice: random.Random) -> str:
    n, dtype = choice.choice((1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 100, 1000)), choice.choice(_DTYPES)
    if choice.random() < 0.5:
        return choice.choice(_CALLS).format(n=n, dtype=dtype)
    shape = choice.choice((f"torch.empty({n}, dtype=torch.{dtype})", f"torch.empty(3, {n}, dtype=torch.{dtype}).t()"))
    return f"{shape}.{choice.choice(_FILLS)}"


@pytest.mark.parametrize("seed", range(40))
def test_consecutive_calls_give_the_same_random_numbers(seed: int) -> None:
    choice = random.Random(seed)
    for library in (torch, model):
        library.manual_seed(seed)
    for _ in range(25):
        expression = _expression(choice)
        expected, found = (eval(expression, {"torch": library}).tolist() for library in (torch, model))
        assert repr(found) == repr(expected), expression
    assert model.get_rng_state().tolist() == torch.get_rng_state().tolist()


@pytest.mark.parametrize("dtype", _DTYPES)
def test_a_million_normal_numbers_are_the_same(dtype: str) -> None:
    for library in (torch, model):
        library.manual_seed(0)
    expected = torch.randn(1_000_003, dtype=getattr(torch, dtype)).double().numpy()
    found = model.randn(1_000_003, dtype=getattr(model, dtype)).double()._array
    equal = (expected == found).mean()
    print(f"{dtype}: {equal:.6%} of the numbers have equal bits")
    assert equal == 1
