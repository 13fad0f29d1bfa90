"""Runs the lessons of ``examples/lessons`` on a real PyTorch (CPU); stores what they print and dispatch, as test data.

    python -m scripts.record_lessons          write tests/data/lessons.json.gz
    python -m scripts.record_lessons NAME     show one lesson's dispatch steps as text

The file is JSON: a lesson's name to ``output`` and ``log``, the steps of ``watch_torch.py`` as lines of text.
"""

from __future__ import annotations

import gzip
import json
import sys

import torch

from scripts.observe import Run, in_new_thread
from scripts.watch_torch import steps_of, watched_dispatcher
from tests.truth import LESSONS, STORED_LESSONS, log_texts

Record = dict[str, str | list[str]]


def recorded(name: str) -> Record:
    """What a lesson does on PyTorch. RuntimeError if it fails there, or prints something else when it is watched."""
    source = (LESSONS / f"{name}.py").read_text(encoding="utf-8")
    plain, watched = Run(torch, source), Run(torch, source)
    in_new_thread(plain.whole)
    with watched_dispatcher():
        log = in_new_thread(lambda: steps_of(watched.whole))
    if plain.error or watched.output != plain.output:
        raise RuntimeError(f"{name}: {plain.error or 'watched, it prints something else'}")
    return {"output": plain.output, "log": log_texts(log)}


def main(names: list[str]) -> None:
    """Writes or prints."""
    torch.set_num_threads(1)
    found = {name: recorded(name) for name in names or sorted(path.stem for path in LESSONS.glob("*.py"))}
    if names:
        print("\n".join(line for record in found.values() for line in record["log"]))
        return
    with gzip.GzipFile(STORED_LESSONS, "wb", mtime=0) as stream:
        stream.write(json.dumps(found, indent=0).encode())
    print(f"{len(found)} lessons, {STORED_LESSONS.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
