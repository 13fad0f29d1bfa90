"""Run a program as Python does and as dispatchviz does, and return the visible results of each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.waiting import HANGS

from .odd_programs import Odd

ROOT = Path(__file__).parents[2]
PYTHON = (sys.executable,)
TRACED = (sys.executable, "-m", "dispatchviz", "trace", "-o", "/dev/null")
UNTRACED = (sys.executable, "-m", "dispatchviz", "run", "--no-trace")


_UNDECIDED = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS", "PYTHONIOENCODING", "PYTHONUTF8", "LANG")
_KEPT = {name: value for name, value in os.environ.items() if name not in _UNDECIDED and not name.startswith("LC_")}
_ENVIRONMENT = {**_KEPT, "PYTHONPATH": str(ROOT), "LC_ALL": "en_US.UTF-8", "PYTHONUTF8": "1"}
"""The environment without the developer's variables that change Python's output."""


class Seen(NamedTuple):
    """The visible results of a process in a shell."""

    status: int
    out: bytes
    err: list[str]
    """The lines on stderr, without those of dispatchviz itself."""


def seen(odd: Odd, how: tuple[str, ...], folder: Path) -> Seen:
    """Run a program in one way, in a folder of its own."""
    folder.mkdir()
    for name, text in {**odd.files, "odd.py": odd.source}.items():
        (folder / name).write_text(text)
    command = [*how, "odd.py", *odd.arguments]
    if odd.shell:
        script = f'{odd.shell} exec "$@"' if odd.shell.endswith(";") else f'exec "$@" {odd.shell}'
        command = ["sh", "-c", script, "sh", *command]
    done = subprocess.run(
        command,
        cwd=folder,
        input=odd.given,
        capture_output=True,
        timeout=HANGS,
        check=False,
        env={**_ENVIRONMENT, **odd.environment},
    )
    return Seen(done.returncode, _plain(done.stdout, folder), _said(_plain(done.stderr, folder)))


def _plain(raw: bytes, folder: Path) -> bytes:
    """Replace parts that differ from run to run: folders, addresses, process numbers."""
    raw = raw.replace(bytes(folder), b"FOLDER")
    raw = re.sub(rb"0x[0-9a-f]{6,}", b"0xADDRESS", raw)
    return re.sub(rb"refcount : \d+", b"refcount", raw)


def _said(raw: bytes) -> list[str]:
    """Return Python's lines on stderr, without lines of dispatchviz and without frames of PyTorch's own Python
    files.
    """
    lines = raw.decode(errors="backslashreplace").splitlines()
    lines = [line for line in lines if not line.startswith("dispatchviz: ")]
    kept: list[str] = []
    within = False
    for line in lines:
        if line.startswith('  File "'):
            within = "/torch/" in line and "site-packages" in line
        elif not line.startswith("    "):
            within = False
        if not within:
            kept.append(re.sub(r"repeated \d+| while calling a Python object", "", line))
    return kept
