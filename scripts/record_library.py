"""Runs the programs of ``library_programs`` on a real PyTorch and stores what they noted, as test data.

    python -m scripts.record_library             write tests/data/library_programs.json.gz
    python -m scripts.record_library --check     record again and compare with the stored file

Each program runs in a process of its own: registrations and warnings that come once belong to the process. The file is
JSON with ``torch`` (release) and ``programs``: name -> lines.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripts.library_programs import PROGRAMS, run

STORED = Path(__file__).parent.parent / "tests" / "data" / "library_programs.json.gz"


def recorded() -> dict[str, Any]:
    """Everything that the file has. CalledProcessError if a program ends its process."""
    import torch

    return {
        "torch": str(torch.__version__).partition("+")[0],
        "programs": {name: _in_own_process(name) for name in PROGRAMS},
    }


def _in_own_process(name: str) -> list[str]:
    command = [sys.executable, "-m", "scripts.record_library", "--run", name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent)
    lines: list[str] = json.loads(done.stdout)
    return lines


def _run_here(name: str) -> None:
    import torch

    print(json.dumps(run(torch, PROGRAMS[name])))


def stored() -> dict[str, Any]:
    """The file."""
    with gzip.open(STORED, "rt", encoding="utf-8") as stream:
        return json.load(stream)  # type: ignore[no-any-return]


def main() -> None:
    """Exit status 1 if ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--run", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        _run_here(options.run)
    elif options.check:
        sys.exit(recorded() != stored())
    else:
        text = json.dumps(recorded(), indent=0).encode()
        STORED.write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
