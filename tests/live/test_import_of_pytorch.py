"""The recorded program imports PyTorch itself, and dispatchviz watches it from then on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.live.installed_torch import build_text, installed_torch
from dispatchviz.live.kernel_calls import hands_out_kernels
from dispatchviz.trace import Trace
from tests.waiting import HANGS

pytestmark = pytest.mark.torch

SETTING = """\
import logging, os, signal, sys
os.environ["OMP_NUM_THREADS"] = "1"
print(sorted(name for name in logging.root.manager.loggerDict if name.startswith("torch")), "torch" in sys.modules)
import torch
print(torch.get_num_threads(), type(torch.__loader__).__name__, torch.__spec__.loader is torch.__loader__)
def double(x):
    return x * 2
double(torch.ones(2))
torch.zeros(3)
"""

WARNING = "import warnings\nwarnings.warn('careful', stacklevel=2)\nimport not_there\n"


@pytest.fixture(autouse=True)
def watched_from_its_import() -> None:
    if not hands_out_kernels(installed_torch()._C):
        pytest.skip("dispatchviz imports releases before 2.9 itself")


def run(*command: str | Path, **environment: str) -> tuple[int, str, str]:
    """Return exit status, output and errors of a Python process."""
    ended = subprocess.run(
        [sys.executable, *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=HANGS,
    )
    return ended.returncode, ended.stdout, ended.stderr


def recorded(file: Path, *options: str) -> tuple[tuple[int, str, str], Trace]:
    """Return what a recorded program wrote, and the trace."""
    save = file.with_suffix(".dvtrace")
    ended = run("-m", "dispatchviz", "export", "--engine", "torch", "-o", save, *options, file)
    return ended, Trace.load(save)


@pytest.mark.parametrize("options", [(), ("--only", "line=8")], ids=["whole", "a part"])
def test_pytorch_reads_the_environment_that_the_program_has_set(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "setting.py"
    file.write_text(SETTING)
    (status, output, _), trace = recorded(file, *options)
    assert (status, output) == run(file)[:2]
    assert output.splitlines()[1].startswith("1 ")
    assert trace.header.build == build_text(installed_torch())
    calls = {trace[step].operator for step in trace.steps_of(ev.Dispatched)}
    assert "aten::mul.Tensor" in calls
    assert ("aten::zeros" in calls) is not bool(options)


def test_killed_program_leaves_the_facts_about_its_pytorch(tmp_path: Path) -> None:
    file = tmp_path / "killed.py"
    file.write_text(f"{SETTING}os.kill(os.getpid(), signal.SIGKILL)\n")
    save = tmp_path / "killed.dvtrace"
    status, _, _ = run("-m", "dispatchviz", "run", "--engine", "torch", "--unbuffered", "--save", save, file)
    (found,) = tmp_path.glob("killed.part-*.dvtrace")
    trace = Trace.load(found)
    assert status == -signal.SIGKILL
    assert trace.header.blind_spots
    assert trace.steps_of(ev.Dispatched)


def test_failing_import_shows_only_frames_of_the_program(tmp_path: Path) -> None:
    """A warning of the module is shown at the program's line. The module of that name need not be PyTorch."""
    file = tmp_path / "fails.py"
    file.write_text("import torch\n")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(WARNING)
    (status, output, errors), trace = recorded(file)
    plain = run(file)
    assert (status, output) == plain[:2]
    assert plain[2] in errors
    assert f"{file}:1: UserWarning: careful" in errors
    assert [one.message for one in trace if isinstance(one, ev.ProgramRaised)] == ["No module named 'not_there'"]


TWICE = """\
from dispatchviz.running import program
from dispatchviz.running.engines import engine_named
traces = [program.run({file!r}, engine=engine_named("torch")).trace for _ in range(2)]
import torch
print(len({{len(trace) for trace in traces}}), torch.ops.prims.sum.default)
"""


def test_pytorch_is_whole_after_the_program_that_imported_it(tmp_path: Path) -> None:
    """PyTorch registers kernels of its own in Python. They stay until the process ends."""
    file, twice = tmp_path / "steps.py", tmp_path / "twice.py"
    file.write_text("import torch\ntorch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1)\n")
    twice.write_text(TWICE.format(file=str(file)))
    assert run(twice, PYTHONPATH=str(Path(__file__).parents[2])) == (0, "1 prims.sum.default\n", "")


def test_program_without_pytorch_is_recorded(tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text("import sys\nprint('torch' in sys.modules)\n")
    (status, output, _), trace = recorded(file)
    assert (status, output) == (0, "False\n")
    assert trace.header.cuda == "none (the program has not imported PyTorch)"
    assert trace.header.build == build_text(installed_torch())


IMPORTED_MEANWHILE = """\
import sys
from dispatchviz.core.record import events as ev
from dispatchviz.live.torch_engine import TorchEngine
from dispatchviz.running.program import run
engine = TorchEngine()
assert "torch" not in sys.modules
import torch
trace = run(sys.argv[1], engine=engine).trace
print({trace[step].operator for step in trace.steps_of(ev.Dispatched)})
"""


def test_pytorch_that_something_else_imported_before_the_run_is_recorded(tmp_path: Path) -> None:
    file = tmp_path / "exp.py"
    file.write_text("import torch\ntorch.ones(2).exp()\n")
    assert "aten::exp" in run("-c", IMPORTED_MEANWHILE, file)[1]
