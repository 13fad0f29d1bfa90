"""Runs the command line as a user does: another process, no terminal, text in, text out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FORUM = str(ROOT / "examples" / "forum.py")


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def dispatchviz(*args: str | Path, cwd: Path = ROOT) -> Ended:
    """What ``dispatchviz ARGS`` does."""
    command = [sys.executable, "-m", "dispatchviz", *map(str, args)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def script(folder: Path, text: str, name: str = "program.py") -> str:
    """Writes a program; gives its name."""
    (folder / name).write_text(text)
    return name
