"""Errors that list the kernels of an operator: none of ours is among them."""

from __future__ import annotations

import pytest

import dispatchviz

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_error_of_a_call_without_tensors_has_the_text_of_a_plain_run() -> None:
    library = torch.library.Library("plain_errors", "DEF")
    library.define("total(Tensor[] prices) -> Tensor")
    library.impl("total", lambda prices: sum(prices), "CPU")
    total = torch.ops.plain_errors.total
    with pytest.raises(NotImplementedError) as plain:
        total([])
    with pytest.raises(NotImplementedError) as recorded, dispatchviz.record(engine="torch"):
        total([])
    assert str(recorded.value) == str(plain.value)
    assert "Available functions are [CPU, Meta, " in str(plain.value)
