"""Backtraces of a release build of PyTorch: gdb stops in the calls of ``truth/questions/backtraces.py``.

For each call the file lists PyTorch's own frames, outermost first, with plain names. An adapter has the name of the
kernel that it calls. Frames without a name are omitted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.cpp_names import plain_name, wrapped_function
from truth.formats.json_text import json_text
from truth.questions.backtraces import BEFORE, CASES

DEBUGGER = Path(__file__).parents[1] / "observers" / "debugger.py"
PYTORCH = ("libtorch", "libc10")
"""The beginnings of the names of PyTorch's libraries."""


class NoDebuggerError(RuntimeError):
    """The error if gdb is missing or may not watch a process."""


def program() -> str:
    """The program of all calls, each with its marker. Objects that PyTorch creates at first use are created before."""
    calls = [f"os.getloadavg()\n{case.statement}\n" for case in CASES.values()]
    return f"{BEFORE}torch.ones(1) + 1\n{''.join(calls)}os.getloadavg()\n"


def taken() -> dict[str, list[list[str]]]:
    """The frames of each call, outermost first: the name, and for an adapter also its kernel.

    Raise NoDebuggerError if no process can be watched, RuntimeError if gdb fails otherwise.
    """
    if shutil.which("gdb") is None:
        raise NoDebuggerError("there is no gdb")
    with tempfile.TemporaryDirectory() as folder:
        script, file = Path(folder) / "program.py", Path(folder) / "frames.json"
        script.write_text(program(), encoding="utf-8")
        stops = json.dumps([case.stop for case in CASES.values()])
        command = ["gdb", "-nx", "-q", "-batch", "-x", DEBUGGER, "--args", _python(), script]
        environment = {**os.environ, "STOPS": stops, "FILE": str(file), "PYTHONPATH": _installed()}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        if not file.exists():
            text = ran.stdout + ran.stderr
            error = NoDebuggerError if "Operation not permitted" in text or "ptrace" in text else RuntimeError
            raise error(text[-2000:])
        found = json.loads(file.read_text("utf-8"))
    return {name: list(_pytorchs(frames)) for name, frames in zip(CASES, found, strict=True)}


def _python() -> str:
    """The interpreter itself: gdb does not accept a script that starts one."""
    return os.path.realpath(sys.executable)


def _installed() -> str:
    """The folders with this Python's packages, because the interpreter itself does not know its environment."""
    return os.pathsep.join([str(Path(torch.__file__).parents[1]), *sys.path])


def _pytorchs(frames: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
    for name, library in reversed(list(frames)):
        if library.startswith(PYTORCH) and name:
            kernel = wrapped_function(name)
            yield [plain_name(name), kernel] if kernel else [plain_name(name)]


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "backtraces.json", json_text(taken())
