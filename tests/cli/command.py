"""Run the command line as a user does: in another process, without a terminal, with text in and text out."""

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
"""The line on stderr that says why there is no stepper."""


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def dispatchviz(*args: str | Path, cwd: Path = ROOT, given: bytes = b"") -> Ended:
    """Run ``dispatchviz ARGS`` with ``given`` as its standard input."""
    done = in_bytes(*args, cwd=cwd, given=given)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def refused(*args: str | Path, cwd: Path = ROOT) -> str:
    """Return the error line of a wrong command line; assert that it has status 2 and nothing on standard output.

    The command runs in this process, and must not start anything.
    """
    out, err, nothing = StringIO(), StringIO(), TextIOWrapper(BytesIO())
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd), patch("sys.stdin", nothing):
        assert (main([*map(str, args)]), out.getvalue()) == (2, "")
    assert err.getvalue().startswith("dispatchviz: ")
    assert err.getvalue().count("\n") == 1
    return err.getvalue()


def in_bytes(*args: str | Path, cwd: Path = ROOT, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command whose output is not text."""
    command = [sys.executable, "-m", "dispatchviz", *map(str, args)]
    environment = {**os.environ}  # without LINES and COLUMNS, which readline puts where Python does not see them
    return subprocess.run(
        command, cwd=cwd, input=given, capture_output=True, timeout=HANGS, check=False, env=environment
    )


def script(folder: Path, text: str, name: str = "program.py") -> str:
    """Write a program and return its name."""
    (folder / name).write_text(text)
    return name
