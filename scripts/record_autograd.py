"""Runs the programs about autograd on a real PyTorch (CPU) and stores what it did, as test data.

    python -m scripts.record_autograd                write tests/data/autograd_cases.json.gz
    python -m scripts.record_autograd --check        record again and compare with the stored file

The programs are those of ``autograd_cases.py`` and the first random ones of ``tests/conformance/autograd_programs.py``.
The file is JSON with ``torch`` (release) and ``programs``: name to ``source`` and the record of ``autograd_record.py``.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import torch

from scripts.autograd_cases import table, whole
from scripts.autograd_record import autograd_record, differing
from scripts.watch_torch import watched_engine
from tests.conformance.autograd_programs import program

STORED = Path(__file__).parent.parent / "tests" / "data" / "autograd_cases.json.gz"
RANDOM = 400
"""Random programs that are stored; many more are compared live."""


def sources() -> dict[str, str]:
    """All programs by name."""
    return {**whole(), **table(), **{f"random_{seed}": program(seed) for seed in range(RANDOM)}}


def recorded() -> dict[str, Any]:
    """What PyTorch does."""
    torch.set_num_threads(1)
    return {
        name: {"source": source, **autograd_record(torch, source, watched_engine)} for name, source in sources().items()
    }


def stored() -> dict[str, Any]:
    """The programs of the file."""
    with gzip.open(STORED, "rt", encoding="utf-8") as stream:
        return json.load(stream)["programs"]  # type: ignore[no-any-return]


def main(argv: list[str]) -> int:
    """0; 1 if ``--check`` finds another answer than the stored one."""
    found = recorded()
    if "--check" in argv:
        known = stored()
        wrong = [
            name
            for name in known.keys() | found.keys()
            if name not in known or name not in found or differing(known[name], found[name])
        ]
        print(f"{len(found)} programs, {len(wrong)} differ", *sorted(wrong))
        return 1 if wrong else 0
    release = str(torch.__version__).partition("+")[0]
    text = json.dumps({"torch": release, "programs": found}, separators=(",", ":")).replace('},"', '},\n"')
    STORED.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(found)} programs, {STORED.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
