"""Imports of ordinary code: ``functorch``, ``torch.testing`` and ``torch.utils`` answer as PyTorch's do."""

from __future__ import annotations

import importlib
import re
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

BOUNDS = ("low=0, high=1", "low=1", "high=3", "requires_grad=True", "noncontiguous=True", "exclude_zero=True")
DTYPES = ("float32", "int64", "bool", "complex64", "uint8", "bfloat16")
FACTS = "made.tolist(), made.stride(), made.storage_offset(), made.requires_grad"

QUESTIONS = [
    *Path(__file__).with_name("names.txt").read_text(encoding="utf-8").strip().split("\n\n"),
    *(
        f"made = torch.testing.make_tensor(2, 3, dtype=torch.{dtype}, device='cpu', {bounds})\n{FACTS}"
        for bounds in BOUNDS
        for dtype in DTYPES
    ),
]


def names(torch: ModuleType, prefix: str) -> dict[str, Any]:
    benchmark = importlib.import_module(torch.__name__ + ".utils.benchmark")

    def measured(times: list[float], **task: Any) -> Any:
        spec = benchmark.TaskSpec(**{"stmt": "x + y", "setup": "pass", **task})
        return benchmark.Measurement(100, [time * 100 for time in times], spec)

    return {
        "torch": torch,
        "functorch": importlib.import_module(prefix + "functorch"),
        "weak": importlib.import_module(torch.__name__ + ".utils.weak"),
        "mode_utils": importlib.import_module(torch.__name__ + ".utils._mode_utils"),
        "benchmark": benchmark,
        "measured": measured,
    }


def answer(torch: ModuleType, prefix: str, question: str) -> str:
    """Return the value of the last line, or the error, and the warnings."""
    *before, last = question.split("\n")
    variables = names(torch, prefix)
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec("\n".join(before), variables)
            found = str(eval(last, variables))
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    return "\n".join([re.sub("at 0x[0-9a-f]+", "", found), *(str(w.message) for w in caught)])


@pytest.mark.parametrize("question", QUESTIONS)
def test_model_and_pytorch_give_the_same_answer(question: str) -> None:
    from dispatchviz import torch as model

    assert answer(model, "dispatchviz.", question) == answer(torch, "", question)
