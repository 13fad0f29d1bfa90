"""A gdb script that takes the backtrace of each of a program's calls at the beginning of a function, and writes them as
JSON.

    gdb -nx -q -batch -x debugger.py --args python PROGRAM

Each call of the program begins with ``os.getloadavg()``. The environment variable ``STOPS`` holds a JSON list of the
functions to stop at, one per call. The file named by ``FILE`` receives a list of backtraces: for each frame, innermost
first, its name and its library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import gdb

QUIET = ("pagination off", "confirm off", "breakpoint pending on", "print thread-events off")
BEGIN = "getloadavg"


def frames() -> Iterator[tuple[str, str]]:
    """The frames of the current stack."""
    frame = gdb.newest_frame()
    while frame is not None:
        library = gdb.solib_name(frame.pc()) or ""
        yield frame.name() or "", library.rpartition("/")[2]
        frame = frame.older()


def backtrace(stop: str) -> list[tuple[str, str]]:
    """The backtrace at a function, for a call that has begun; then run to the beginning of the next call.

    Raise gdb.error if the program ends first.
    """
    breakpoint_ = gdb.Breakpoint(stop)
    gdb.execute("continue", to_string=True)
    found = list(frames())
    breakpoint_.delete()
    gdb.execute("continue", to_string=True)
    return found


def main(stops: list[str], file: Path) -> None:
    """Write all backtraces of the program that gdb runs."""
    for setting in QUIET:
        gdb.execute(f"set {setting}")
    gdb.Breakpoint(BEGIN)
    gdb.execute("run", to_string=True)
    file.write_text(json.dumps([backtrace(stop) for stop in stops]), encoding="utf-8")


main(json.loads(os.environ["STOPS"]), Path(os.environ["FILE"]))
