"""Which operators leave the GPU: what the code says, and what the stand-in for CuPy sees."""

from __future__ import annotations

from typing import Any

import pytest

from dispatchviz import torch
from dispatchviz.explain.cells.host_operators import BY_NUMPY, BY_PYTHON, host_operators
from tests import cupy_stand_in
from tests.cuda_kinds import STAND_IN, cuda_is

Calls = dict[str, Any]
LEAVING: Calls = {
    "erf": lambda x: torch.erf(x),
    "lgamma": lambda x: torch.lgamma(x),
    "erfinv": lambda x: torch.erfinv(x / 9),
    "linalg_eig": lambda x: torch.linalg.eig(x),
    "median": lambda x: torch.median(x),
    "_cummax_helper": lambda x: torch.cummax(x, 0),
    "histc": lambda x: torch.histc(x),
}
STAYING: Calls = {
    "add": lambda x: x + x,
    "exp": lambda x: x.exp(),
    "sum": lambda x: x.sum(),
    "mm": lambda x: x.mm(x),
    "softmax": lambda x: x.softmax(-1),
    "clamp": lambda x: x.clamp(0, 1),
}


def leaves(call: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether an array of the stand-in is copied to the host, or its numbers are read."""
    seen = []
    with cuda_is(STAND_IN), monkeypatch.context() as patch:
        x = (torch.arange(9.0, dtype=torch.float64).reshape(3, 3) / 9).to("cuda")
        for name in ("get", "tolist"):
            original = getattr(cupy_stand_in.ndarray, name)
            patch.setattr(
                cupy_stand_in.ndarray,
                name,
                lambda self, *given, original=original: seen.append(1) or original(self, *given),
            )
        call(x)
    return bool(seen)


@pytest.mark.parametrize("name", LEAVING)
def test_what_is_listed_leaves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert name in host_operators(BY_NUMPY | BY_PYTHON)
    assert leaves(LEAVING[name], monkeypatch)


@pytest.mark.parametrize("name", STAYING)
def test_what_is_not_listed_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert name not in host_operators(BY_NUMPY | BY_PYTHON)
    assert not leaves(STAYING[name], monkeypatch)


def test_both_ways_are_told_apart() -> None:
    assert "erf" not in host_operators(BY_NUMPY)
    assert "histc" not in host_operators(BY_PYTHON)
    assert not host_operators(frozenset({"no such name"}))
