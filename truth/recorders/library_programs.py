"""Output of the programs of ``truth/programs/library`` on a real PyTorch.

Each runs in its own process, because registrations and one-time warnings belong to a process. The file is JSON with
``torch`` (release) and ``programs``: lines by name.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from truth import records
from truth.formats.json_text import json_text
from truth.programs.library import PROGRAMS, run

ROOT = Path(__file__).parents[2]


def recorded(names: Iterable[str] = tuple(PROGRAMS)) -> dict[str, Any]:
    """The contents of the file, or some of its programs. Raise CalledProcessError if a program ends its process."""
    import torch

    return {
        "torch": str(torch.__version__).partition("+")[0],
        "programs": {name: _in_own_process(name) for name in names},
    }


def _in_own_process(name: str) -> list[str]:
    command = [sys.executable, "-m", __name__, name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    lines: list[str] = json.loads(done.stdout)
    return lines


def _run_here(name: str) -> None:
    from truth.observers.torch_of_cpu_builds import torch

    print(json.dumps(run(torch, PROGRAMS[name])))


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "library_programs.json", json_text(recorded())


if __name__ == "__main__":
    _run_here(sys.argv[1])
