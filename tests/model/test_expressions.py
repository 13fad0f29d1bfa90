"""Single calls, most of them wrong ones: the model's results and error texts against PyTorch's stored ones."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from dispatchviz import torch as model
from truth import records
from truth.observers.runs import evaluated

EXPRESSIONS: dict[str, list[str]] = records.read("expressions")["expressions"]

pytestmark = pytest.mark.record("expressions")


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_result_or_error(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Any = evaluated(model, text)
    assert found == EXPRESSIONS[text]
