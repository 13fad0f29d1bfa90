"""``run --follow``: the program runs in a process of its own while the stepper shows what it has done so far.

The terminal is the stepper's then, so that the program has no keyboard and its output waits in a file until the
stepper is closed. From then on all is as if the program had been run here: its output, Ctrl+C, its exit status.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dispatchviz.cli.trace_folders import places
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.core.record.unfinished_files import is_being_written, unfinished_name
from dispatchviz.foundation.child_processes import ended_together, running
from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal
from dispatchviz.running.program_source import Script, name_of, typed
from dispatchviz.tui.show import show

SUFFIX = ".dvtrace"
"""What can be read while it is written."""

PAUSE = 0.05
"""Seconds between two looks at a program that has not begun, or whose output is waited for."""


def followed(path: str) -> FollowedFile | None:
    """The file of a recording that goes on; None if it is none. Raises TraceError if it cannot be read."""
    return FollowedFile(path) if path.endswith(SUFFIX) and is_being_written(path) else None


def first_trace(file: FollowedFile) -> Trace:
    """What was recorded, as soon as there is a step, or at the end. Raises TraceError if the file is none."""
    while True:
        trace = file.look()
        if trace is not None and (len(trace) or file.over):
            return trace
        time.sleep(PAUSE)


def run_followed(
    script: Script, args: Sequence[str], options: Sequence[str], save: str | None, step: int | None
) -> int:
    """Run a program and open the stepper on it at once; give the program's exit status.

    ``options`` are those of the recording. Raises DispatchvizError if there is nowhere to write the trace, or ``save``
    cannot be read while it is written; EndedBySignal if the program, or the stepper, ended so.
    """
    target = Path(os.path.abspath(save)) if save else next(places(name_of(script)), None)
    if target is None:
        raise DispatchvizError("there is no folder for the trace: name a file with --save")
    if target.suffix.lower() != SUFFIX:
        raise DispatchvizError(f"cannot follow what is written to {save}: with --follow the name ends in {SUFFIX}")
    program = [*typed(script), *(["--"] if isinstance(script, str) else []), *args]
    command = running("dispatchviz.cli", ["export", *options, "-o", str(target), *program])
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "output"), "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        with ended_together(process):
            _step_through(process, target, step, ("--follow", *options, *typed(script), *args))
            with open(output.name, "rb") as printed:
                _relay(process, printed)
    if not save and process.returncode == 0:
        target.unlink(missing_ok=True)
    if process.returncode < 0:
        raise EndedBySignal(-process.returncode)
    return process.returncode


def _step_through(process: subprocess.Popen[bytes], target: Path, step: int | None, again: Sequence[str]) -> None:
    """Open the stepper; not if the program has ended and nothing was recorded."""
    file = _file_of(process, target)
    if file is not None:
        show(first_trace(file), step, run_arguments=again, followed=file)
    elif process.returncode == 0 and target.exists():
        show(Trace.load(target), step, str(target), run_arguments=again)


def _file_of(process: subprocess.Popen[bytes], target: Path) -> FollowedFile | None:
    """The file that the program's process writes, as soon as it does; None if it has ended."""
    part = target.with_name(unfinished_name(target.stem, SUFFIX, process.pid))
    while process.poll() is None:
        with suppress(DispatchvizError):  # it is not there yet
            return FollowedFile(part)
        time.sleep(PAUSE)
    return None


def _relay(process: subprocess.Popen[bytes], printed: BinaryIO) -> None:
    """Print what the program has printed, and goes on until it ends; Ctrl+C is the program's."""
    running = True
    while running:
        running = process.poll() is None  # before reading: what it printed last is read then
        text = printed.read()
        with suppress(KeyboardInterrupt):
            sys.stdout.buffer.write(text)
            sys.stdout.flush()
            if running:
                time.sleep(PAUSE)
