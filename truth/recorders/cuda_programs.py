"""Records of ``truth/programs/on_cuda.txt`` on a real GPU: the same as ``programs.py`` writes, of CUDA's cells.

A backward of CUDA tensors runs in a thread of the engine's own, so here all threads are watched; the program's one
waits meanwhile. The record says which PyTorch and which GPU it is of: the machine at hand may have an older release.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.formats.program_records import Record
from truth.observers import dispatcher
from truth.observers.dispatcher import WATCHED, watched_dispatcher
from truth.programs import ON_CUDA
from truth.recorders.programs import unwatched, watched

KEYS = (*WATCHED, "AutogradCUDA", "CUDA", "AutocastCUDA")


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    found = record_programs(ON_CUDA)
    machine = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    yield records.HERE / "cuda_programs.json.gz", json_text({**machine, "programs": found})


def record_programs(programs: dict[str, str]) -> dict[str, Record]:
    """The records of some programs, by name."""
    torch.ones(1, device="meta").mul(1)  # the first such call loads modules that must not be watched
    torch.ones(1, device="cuda")
    dispatcher.watch_all_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: unwatched(source) for name, source in programs.items()}
        with watched_dispatcher(KEYS):
            return {name: watched(source, found[name]) for name, source in programs.items()}
