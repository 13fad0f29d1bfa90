"""Reprs on a real PyTorch: random tensors, and tensors inside transforms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.questions.printing import IN_TRANSFORMS, answer, questions

COUNT = 600


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    printed = {question: answer(torch, question) for question in sorted((*IN_TRANSFORMS, *questions(0, COUNT)))}
    document = {"printed": printed, "torch": torch.__version__.partition("+")[0]}
    yield records.HERE / "printed_tensors.json", json_text(document)
