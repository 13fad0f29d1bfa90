"""Runs the command line as a user does: another process, no terminal, text in, text out."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from dispatchviz.cli import main
from tests.waiting import HANGS

ROOT = Path(__file__).parents[2]
FORUM = str(ROOT / "examples" / "forum.py")


HINT = " (--plain prints text, --step N --view NAME prints one view of a step)\n"
LOG_INSTEAD = f"dispatchviz: the log instead of the stepper: this is not a terminal{HINT}"
STEP_INSTEAD = f"dispatchviz: the step as text instead of the stepper: this is not a terminal{HINT}"
"""Why there is no stepper, on stderr."""


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def dispatchviz(*args: str | Path, cwd: Path = ROOT, given: bytes = b"") -> Ended:
    """What ``dispatchviz ARGS`` does, with that as its standard input."""
    done = in_bytes(*args, cwd=cwd, given=given)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def refused(*args: str | Path, cwd: Path = ROOT) -> str:
    """What a mistake on the command line is told, in one line, with status 2 and nothing on standard output. All is in
    this process: nothing of what was asked for begins."""
    out, err, nothing = StringIO(), StringIO(), TextIOWrapper(BytesIO())
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd), patch("sys.stdin", nothing):
        assert (main([*map(str, args)]), out.getvalue()) == (2, "")
    assert err.getvalue().startswith("dispatchviz: ")
    assert err.getvalue().count("\n") == 1
    return err.getvalue()


def in_bytes(*args: str | Path, cwd: Path = ROOT, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The same, where what comes out is no text."""
    command = [sys.executable, "-m", "dispatchviz", *map(str, args)]
    environment = {**os.environ}  # without LINES and COLUMNS, which readline puts where Python does not see them
    return subprocess.run(
        command, cwd=cwd, input=given, capture_output=True, timeout=HANGS, check=False, env=environment
    )


def script(folder: Path, text: str, name: str = "program.py") -> str:
    """Write a program; give its name."""
    (folder / name).write_text(text)
    return name
