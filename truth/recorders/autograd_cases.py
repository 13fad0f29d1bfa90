"""Records of the programs about autograd on a real PyTorch (CPU).

The programs are those of ``truth/questions/autograd_cases.py`` and the first random ones of ``autograd_programs.py``.
Each has a record of ``truth/observers/autograd.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.program_records import RecordFile, file_text
from truth.observers.autograd import autograd_record, differing
from truth.observers.dispatcher import watched_engine
from truth.questions.autograd_cases import table, whole
from truth.questions.autograd_programs import program

RANDOM = 400
"""The number of stored random programs; many more are compared live."""


def sources() -> dict[str, str]:
    """All programs by name."""
    return {**whole(), **table(), **{f"random_{seed}": program(seed) for seed in range(RANDOM)}}


def recorded() -> dict[str, Any]:
    """PyTorch's records of all programs."""
    torch.set_num_threads(1)
    return {
        name: {"source": source, **autograd_record(torch, source, watched_engine)} for name, source in sources().items()
    }


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "autograd_cases.txt.gz", file_text(torch.__version__.partition("+")[0], recorded())


def differences(path: Path, old: str, new: str) -> list[str]:
    """Programs whose records differ by more than rounding."""
    known, found = RecordFile(old), RecordFile(new)
    names = dict.fromkeys((*known, *found))
    return [name for name in names if name not in known or name not in found or differing(known[name], found[name])]
