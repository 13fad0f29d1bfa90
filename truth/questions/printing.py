"""Reprs in PyTorch and in the model: random tensors with random print options, tensors inside transforms.

A question is Python source; its answer is its output. ``torch`` is the one that runs it.
"""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator
from typing import Any

IN_TRANSFORMS = (
    "torch.vmap(show)(torch.arange(6.0).view(2, 3))",
    "torch.vmap(show, in_dims=1)(torch.arange(6.0).view(2, 3) / 7)",
    "torch.func.grad(show)(torch.arange(6.0).view(2, 3))",
    "torch.vmap(torch.func.grad(show))(torch.arange(6.0).view(2, 3))",
    "torch.func.grad(lambda x: torch.func.grad(show)(x).sum())(torch.arange(3.0))",
    "torch.vmap(torch.vmap(show), in_dims=1)(torch.arange(6.0).view(2, 3))",
    "torch.vmap(show)(torch.arange(1300.0).view(2, 650))",
    "torch.vmap(show)(torch.ones(2, 3, requires_grad=True))",
    "torch.vmap(show)(torch.tensor([[1, 2], [3, 4]]))",
    "class Mine(torch.Tensor):\n    pass\nm = torch.ones(3).as_subclass(Mine)\nprint(m, m.sum(), repr(m.view(3, 1)))",
)
_SHAPES = (
    (),
    (1,),
    (3,),
    (7,),
    (2, 3),
    (1, 1),
    (3, 1, 2),
    (2, 2, 2, 2),
    (0,),
    (2, 0),
    (25,),
    (12, 9),
    (1001,),
    (40, 30),
)
_LARGE = ((11, 3, 40), (1001, 2), (2, 600), (7, 1, 200))
_DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64", "complex128")
_FACTORS = (1.0, 1.0, 1.0, 1e-6, 1e5, 1e9, 1e-3, 0.1)
_SPECIAL = ("nan", "inf", "-inf", "0.0", "-0.0")
_OPTIONS = ("precision=2", "precision=7", "sci_mode=True", "sci_mode=False", "linewidth=40", "linewidth=120")
_SUMMARIES = ("edgeitems=1", "edgeitems=2", "threshold=5", "edgeitems=0", 'profile="short"', 'profile="full"')


def questions(seed: int, count: int) -> list[str]:
    """Programs that print one random tensor each."""
    choice = random.Random(seed)
    return [_question(choice) for _ in range(count)]


def _question(choice: random.Random) -> str:
    dtype = choice.choice(_DTYPES)
    numbers, shape = _numbers(choice, dtype)
    text = f"torch.tensor({numbers}, dtype=torch.{dtype}).view({shape})"
    if dtype.startswith(("float", "bfloat")) and choice.random() < 0.2:
        text += choice.choice((".requires_grad_()", ".requires_grad_() * 2", ".requires_grad_().t()[:2]"))
        text = text.replace(".t()[:2]", ".clone()")
    options = [part for part in (_OPTIONS, _SUMMARIES) if choice.random() < 0.3]
    chosen = ", ".join(choice.choice(part) for part in options)
    return f"torch.set_printoptions({chosen})\nprint({text})" if chosen else f"print({text})"


def _numbers(choice: random.Random, dtype: str) -> tuple[str, tuple[int, ...]]:
    shape = choice.choice(_SHAPES + (_LARGE if choice.random() < 0.2 else ()))
    count = 1
    for length in shape:
        count *= length
    if count > 400:  # a long literal becomes a comprehension
        rule = f"i * {_factor(choice, dtype)!r}" if dtype.startswith(("float", "bfloat", "complex")) else "i * 7 % 100"
        return f"[{rule} for i in range({count})]", shape
    one = _one(choice, dtype)
    return "[" + ", ".join(next(one) for _ in range(count)) + "]", shape


def _factor(choice: random.Random, dtype: str) -> float:
    """A factor for random numbers; half precision ends at 65504."""
    return min(choice.choice(_FACTORS), 1.0) if dtype == "float16" else choice.choice(_FACTORS)


def _one(choice: random.Random, dtype: str) -> Iterator[str]:
    factor, whole, special = _factor(choice, dtype), choice.random() < 0.3, choice.random() < 0.2
    while True:
        if dtype == "bool":
            yield str(choice.random() < 0.5)
        elif "int" in dtype:
            yield str(choice.randrange(0 if dtype == "uint8" else -120, 120))
        elif dtype.startswith("complex"):
            yield f"complex({_real(choice, factor, whole, special)}, {_real(choice, factor, whole, special)})"
        else:
            yield _real(choice, factor, whole, special)


def _real(choice: random.Random, factor: float, whole: bool, special: bool) -> str:
    if special and choice.random() < 0.3:
        return f'float("{choice.choice(_SPECIAL)}")'
    return repr(float(choice.randrange(-30, 1000)) if whole else choice.gauss(0, 3) * factor)


def answer(torch: Any, question: str) -> str:
    """The output of a question."""
    printed = io.StringIO()

    def show(a: Any) -> Any:
        print(a, a * 2, a.sum())
        return (a * 2).sum()

    with contextlib.redirect_stdout(printed):
        try:
            exec(question, {"torch": torch, "show": show})
        finally:
            torch.set_printoptions(profile="default")
    return printed.getvalue()
