"""Runs inside gdb: takes the backtrace of each of a program's calls where a function begins, and writes them as JSON.

    gdb -nx -q -batch -x debugger.py --args python PROGRAM

Each call of the program begins with ``os.getloadavg()``. The environment has in ``STOPS`` a JSON list of the
functions to stop at, one a call; the file that ``FILE`` names gets a list of backtraces: per frame, innermost first,
its name and the library it is in.
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
    """The stack as it is now."""
    frame = gdb.newest_frame()
    while frame is not None:
        library = gdb.solib_name(frame.pc()) or ""
        yield frame.name() or "", library.rpartition("/")[2]
        frame = frame.older()


def backtrace(stop: str) -> list[tuple[str, str]]:
    """Run a call that has begun up to a function, then to where the next one begins.

    gdb.error if it comes to its end without.
    """
    breakpoint_ = gdb.Breakpoint(stop)
    gdb.execute("continue", to_string=True)
    found = list(frames())
    breakpoint_.delete()
    gdb.execute("continue", to_string=True)
    return found


def main(stops: list[str], file: Path) -> None:
    """All backtraces of the program that gdb was started with."""
    for setting in QUIET:
        gdb.execute(f"set {setting}")
    gdb.Breakpoint(BEGIN)
    gdb.execute("run", to_string=True)
    file.write_text(json.dumps([backtrace(stop) for stop in stops]), encoding="utf-8")


main(json.loads(os.environ["STOPS"]), Path(os.environ["FILE"]))
