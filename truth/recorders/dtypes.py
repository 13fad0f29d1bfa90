"""Promotion and casts of dtypes in an installed PyTorch.

The file is JSON: ``torch`` (release); ``promote_types`` and ``can_cast``, the answer by first and second dtype;
``result_type``, ``[first, second, answer]`` of operands such as ``float16[2]`` (a tensor with dimensions),
``float16[]`` (a 0-dim tensor) and ``2.5`` (a number).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
NUMBERS = ("True", "3", "2.5", "1j")


def operand(text: str, namespace: Any = torch) -> Any:
    """The operand of a text such as ``float16[2]``, created by a torch-like module."""
    if text in NUMBERS:
        return eval(text)
    dtype, _, size = text.partition("[")
    return namespace.ones((2,) if size == "2]" else (), dtype=getattr(namespace, dtype))


def everything() -> dict[str, Any]:
    """The contents of the file."""

    def of_pairs(answer: Any) -> dict[str, dict[str, Any]]:
        return {a: {b: answer(getattr(torch, a), getattr(torch, b)) for b in DTYPES} for a in DTYPES}

    operands = [*(f"{dtype}{size}" for dtype in DTYPES for size in ("[2]", "[]")), *NUMBERS]
    pairs = [(a, b) for a, b in itertools.product(operands, operands) if not (a in NUMBERS and b in NUMBERS)]
    return {
        "torch": torch.__version__.split("+")[0],
        "promote_types": of_pairs(lambda a, b: str(torch.promote_types(a, b))),
        "can_cast": of_pairs(torch.can_cast),
        "result_type": [[a, b, str(torch.result_type(operand(a), operand(b)))] for a, b in pairs],
    }


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "dtypes.json", json_text(everything())
