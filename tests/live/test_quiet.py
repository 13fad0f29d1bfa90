"""A recorded program has the same output and errors as without a recorder, to the last bit."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.core.record.events import Dispatched, SourceLine
from dispatchviz.trace import Trace
from tests.amounts import in_turn

pytestmark = pytest.mark.torch

HERE = Path(__file__).parent
PROGRAMS = sorted(file.stem for file in (HERE / "programs").glob("*.py") if file.stem not in ("graph", "__init__"))
RECORDER = HERE / "recorded.py"

_DIFFERENT_EACH_TIME = re.compile(
    r" at 0x[0-9a-f]+>|USDT:.*\n|(?<=\(pid=)\d+|\b[IWE]\d{4} [\d:.]+ \d+ |(?<=:)\d+-\d+-\d+ [\d:]+ \d+:\d+ "
)
"""Patterns of texts that differ each time: addresses of objects, the profiler's times, the process in Python's warning
of a fork, when a log was written and by which process.
"""


def run(*command: str | Path) -> tuple[int, str, str]:
    """Return exit status, output and errors of a Python process."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    ended = subprocess.run(
        [sys.executable, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, cwd=HERE
    )
    output, errors = (_DIFFERENT_EACH_TIME.sub("", text) for text in (ended.stdout, ended.stderr))
    return ended.returncode, output, errors


@pytest.mark.parametrize("program", in_turn([name for name in PROGRAMS if name != "crashes"], 16))
def test_program_does_the_same(program: str, tmp_path: Path) -> None:
    """The recording also reaches the program's end."""
    file = HERE / "programs" / f"{program}.py"
    plain = run(file)
    if program == "device_threads" and "_setup_privateuseone_for_python_backend" in plain[2]:
        pytest.skip("this release has no devices of Python's")
    status, output, errors = run(RECORDER, tmp_path / "steps", file)
    assert (output, errors, status) == (plain[1], plain[2], plain[0])
    assert int((tmp_path / "steps").read_text()) > (1 if program == "never" else 50)


def test_recording_survives_the_death_of_its_process(tmp_path: Path) -> None:
    """The events written up to that point are in the file. NB: notes of the last lines may be missing."""
    file = HERE / "programs" / "crashes.py"
    saved = tmp_path / "crashed.jsonl"
    plain = run(file)
    recorded = run("-m", "dispatchviz", "run", "--engine", "torch", "--save", saved, file)
    assert (recorded[0], recorded[2]) == plain[:2]  # the output of a program goes there, to keep the log whole
    (part,) = tmp_path.glob("crashed.part-*.jsonl")
    assert "aten::add.Tensor" in {getattr(event, "operator", "") for event in Trace.load(part).events}


def test_unbuffered_the_file_has_the_step_that_killed_the_process(tmp_path: Path) -> None:
    program, saved = tmp_path / "program.py", tmp_path / "crashed.jsonl"
    program.write_text(KILLED_IN_A_KERNEL)
    status, _, _ = run("-m", "dispatchviz", "run", "--engine", "torch", "--unbuffered", "--save", saved, program)
    assert status == -signal.SIGSEGV
    (part,) = tmp_path.glob("crashed.part-*.jsonl")
    events = Trace.load(part).events
    last = events[-1]
    assert isinstance(last, SourceLine)
    assert (last.line, last.function) == (5, "lose")
    around = last  # before 2.9 PyTorch imports its compiler within the call, which calls operators
    while not isinstance(around, Dispatched):
        assert around.parent is not None
        around = events[around.parent]
    assert around.operator == "crash::lose"


KILLED_IN_A_KERNEL = """\
import ctypes
import torch
@torch.library.custom_op("crash::lose", mutates_args=())
def lose(x: torch.Tensor) -> torch.Tensor:
    ctypes.string_at(0)
    return x.clone()
x = torch.ones(2).add(1)
lose(x)
"""
