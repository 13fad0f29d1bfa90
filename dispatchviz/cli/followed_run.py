"""``run --follow``: the program runs in a process of its own while the stepper shows its steps.

The terminal belongs to the stepper, so the program has no keyboard, and its output waits in a file until the stepper is
closed. After that, output, Ctrl+C and exit status are those of a program that runs here.
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
"""The suffix of traces that can be read while they are written."""

PAUSE = 0.05
"""Seconds between two looks at a program that has not begun, or whose output is awaited."""


def followed(path: str) -> FollowedFile | None:
    """Return the file of a recording in progress; None if it is not one. Raise TraceError if it cannot be read."""
    return FollowedFile(path) if path.endswith(SUFFIX) and is_being_written(path) else None


def first_trace(file: FollowedFile) -> Trace:
    """Wait for the first step or the end of the recording, and return the trace. Raise TraceError if the file is not a
    trace.
    """
    while True:
        trace = file.look()
        if trace is not None and (len(trace) or file.over):
            return trace
        time.sleep(PAUSE)


def run_followed(
    script: Script, args: Sequence[str], options: Sequence[str], save: str | None, step: int | None
) -> int:
    """Run a program and open the stepper on it at once; return the program's exit status.

    ``options`` are those of the recording. Raise DispatchvizError if there is no place for the trace, or ``save``
    cannot be read while it is written. Raise EndedBySignal if a signal ended the program or the stepper.
    """
    target = Path(os.path.abspath(save)) if save else next(places(name_of(script)), None)
    if target is None:
        raise DispatchvizError("there is no folder for the trace: name a file with --save")
    if target.suffix.lower() != SUFFIX:
        raise DispatchvizError(f"cannot follow {save}: with --follow the name of the trace must end in {SUFFIX}")
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
    """Open the stepper, unless the program has ended and recorded nothing."""
    file = _file_of(process, target)
    if file is not None:
        show(first_trace(file), step, run_arguments=again, followed=file)
    elif process.returncode == 0 and target.exists():
        show(Trace.load(target), step, str(target), run_arguments=again)


def _file_of(process: subprocess.Popen[bytes], target: Path) -> FollowedFile | None:
    """Wait for the file that the program's process writes, and return it; None if the process has ended."""
    part = target.with_name(unfinished_name(target.stem, SUFFIX, process.pid))
    while process.poll() is None:
        with suppress(DispatchvizError):  # the file does not exist yet
            return FollowedFile(part)
        time.sleep(PAUSE)
    return None


def _relay(process: subprocess.Popen[bytes], printed: BinaryIO) -> None:
    """Print the program's output until the program ends. Ctrl+C goes to the program."""
    running = True
    while running:
        running = process.poll() is None  # before reading, so that its last output is read
        text = printed.read()
        with suppress(KeyboardInterrupt):
            sys.stdout.buffer.write(text)
            sys.stdout.flush()
            if running:
                time.sleep(PAUSE)
