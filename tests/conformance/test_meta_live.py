"""Sizes, strides, dtypes and errors on the device meta, beside PyTorch's."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.amounts import in_turn

torch = pytest.importorskip("torch")

EXPRESSIONS = in_turn(Path(__file__).with_name("meta_expressions.txt").read_text().splitlines(), 2)

NAMES = """
m = torch.empty(4, 4, device=D)
v = torch.empty(4, device=D)
i = torch.zeros(4, dtype=torch.long, device=D)
b = torch.empty(4, 4, dtype=torch.bool, device=D)
c = torch.empty(4, 4, dtype=torch.complex64, device=D)
bm = torch.empty(2, 4, 4, device=D)
im = torch.empty(2, 4, 8, 8, device=D)
"""
"""Tensors that the expressions use."""


def layout(torch: ModuleType, value: Any) -> Any:
    """The geometry of a result, or of several."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), str(value.device), tuple(value.shape), value.stride()
    if isinstance(value, (list, tuple)):
        return [layout(torch, one) for one in value]
    return str(value)


def answers(torch: ModuleType) -> list[Any]:
    """The layout of each result, or the error."""
    found = []
    for expression in EXPRESSIONS:
        space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "D": "meta"}
        exec(NAMES, space)
        try:
            found.append(layout(torch, eval(expression, space)))
        except Exception as error:
            found.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    return found


def test_results_on_meta_have_the_layout_of_pytorch() -> None:
    from dispatchviz import torch as model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression, ours, theirs in zip(EXPRESSIONS, answers(model), answers(torch), strict=True):
            assert ours == theirs, expression
