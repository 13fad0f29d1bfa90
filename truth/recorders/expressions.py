"""Results or errors of the single calls of ``truth/programs/expressions.txt`` on a real PyTorch (CPU).

The file is JSON with ``torch`` (release) and ``expressions``: ``["value", repr]`` or ``["error", type, message]`` for
each.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.observers.runs import evaluated
from truth.programs import EXPRESSIONS


def recorded() -> dict[str, list[str]]:
    """The result of every expression."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {expression: evaluated(torch, expression) for expression in EXPRESSIONS}


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    whole = {"torch": torch.__version__.partition("+")[0], "expressions": recorded()}
    yield records.HERE / "expressions.json", json_text(whole)
