"""Output and dispatch steps of ``examples/training`` on a real PyTorch (CPU), one file per program.

A record (``truth/formats/program_records.py``) has only ``output`` and ``log``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.program_records import Record, RecordFile, file_text
from truth.observers.dispatcher import steps_of, watched_dispatcher
from truth.observers.runs import Run, in_new_thread
from truth.programs import TRAINING


def recorded(name: str) -> Record:
    """The record of a program. Raise RuntimeError if it fails, or prints something else while it is watched."""
    source = (TRAINING / f"{name}.py").read_text(encoding="utf-8")
    plain, watched = Run(torch, source), Run(torch, source)
    in_new_thread(plain.whole)
    with watched_dispatcher():
        log = in_new_thread(lambda: steps_of(watched.whole))
    if plain.error or watched.output != plain.output:
        raise RuntimeError(f"{name}: {plain.error or 'watched, it prints something else'}")
    return {"output": plain.output, "log": log}


def files(part: str) -> Iterator[tuple[Path, str]]:
    """File and text of one program, or of all."""
    torch.set_num_threads(1)
    release = torch.__version__.partition("+")[0]
    for name in [part] if part else sorted(path.stem for path in TRAINING.glob("*.py")):
        yield records.HERE / "training" / f"{name}.txt.gz", file_text(release, {name: recorded(name)})


def differences(path: Path, old: str, new: str) -> list[str]:
    """The parts of programs that differ: their output or their log."""
    known, found = RecordFile(old), RecordFile(new)
    parts = ((name, part) for name in found for part in found[name])
    return [
        f"{name}: {part}" for name, part in parts if name not in known or known[name].get(part) != found[name][part]
    ]
