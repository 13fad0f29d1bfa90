"""Results of ``truth/questions/engine.py`` on an installed PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.questions.engine import answers


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "engine_answers.json", json_text(answers(torch))
