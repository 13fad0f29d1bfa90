"""Factories on the meta device: what their Python kernels call, and their errors, as PyTorch 2.13 has them."""

from __future__ import annotations

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.events import Dispatched, KernelSelected

ALLOCATING = {
    "torch.ones(2, device='meta')": "empty.memory_format",
    "torch.zeros(2, device='meta')": "empty.memory_format",
    "torch.full((2,), 1.0, device='meta')": "empty.memory_format",
    "torch.rand(2, device='meta')": "empty.memory_format",
    "torch.randn(2, device='meta')": "empty_strided",
}
"""The one operator that is called below, through BackendSelect."""


@pytest.mark.parametrize("text", ALLOCATING)
def test_they_only_allocate(text: str) -> None:
    with dispatchviz.record() as trace:
        eval(text)
    steps = [(e.operator, e.key) for e in trace if isinstance(e, Dispatched)]
    inner = f"aten::{ALLOCATING[text]}"
    assert steps[1:] == [(steps[0][0], "Meta"), (inner, "BackendSelect"), (inner, "Meta")]
    cells = [e for e in trace if isinstance(e, KernelSelected)]
    assert cells[1].registered.endswith(".py") or ".py:" in cells[1].registered


def test_dtypes_of_full() -> None:
    found = [torch.full((2,), value, device="meta").dtype for value in (2, True, 2j, 2.0)]
    assert found == [torch.int64, torch.bool, torch.complex64, torch.float32]


def test_geometry() -> None:
    assert torch.randn(2, 3, dtype=torch.complex64, device="meta").stride() == (3, 1)
    assert torch.randn(0, 3, device="meta").stride() == (3, 1)


def test_errors() -> None:
    with pytest.raises(RuntimeError, match=r"^expected a floating-point or complex dtype, but got dtype=torch.int64$"):
        torch.randn(2, dtype=torch.int64, device="meta")
    assert torch.rand(2, dtype=torch.int64, device="meta").dtype == torch.int64
    with pytest.raises(RuntimeError, match=r"^Expected cond to be True, but got False"):
        torch.randn(-2, device="meta")
    for function in (torch.ones, torch.zeros, torch.rand):
        with pytest.raises(RuntimeError, match=r"^Trying to create tensor with negative dimension -2: \[-2\]"):
            function(-2, device="meta")
