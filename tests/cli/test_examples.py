"""The examples in the help of each command: there are some, and each works as written."""

from __future__ import annotations

import re
import shlex
import shutil
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from dispatchviz.cli.commands import COMMANDS
from dispatchviz.live.snapshot import write_snapshot
from tests.amounts import some
from tests.live.snapshots import OLD, with_kernels

from .command import ROOT, dispatchviz

pytestmark = pytest.mark.long

ERROR = "RuntimeError: Could not run 'aten::add.out' with arguments from the 'QuantizedCPU' backend.\n"

HAS_TORCH = find_spec("torch") is not None
STATUS = {"diff": 1, **dict.fromkeys(("check", "snapshot"), 0 if HAS_TORCH else 2)}
"""The statuses of commands that do not end with 0: the compared things differ; check and snapshot need a PyTorch."""

HAS_STACK = HAS_TORCH and shutil.which("gdb") is not None
"""True if programs run in gdb here."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "error.txt").write_text(ERROR)
    (folder / "backtrace.txt").write_text("#0  0x00007ffff7d3 in at::native::add_kernel () from libtorch_cpu.so\n")
    shutil.copy(ROOT / "examples/mlp.py", folder / "train.py")
    write_snapshot(OLD, folder / "pytorch-2.9.json")
    write_snapshot(with_kernels(OLD, "aten::ldexp", ""), folder / "pytorch-2.13.json")
    assert dispatchviz("export", "examples/forum.py", "-o", "forum.dvtrace", cwd=folder).status == 0
    (folder / "homework").mkdir()
    shutil.copy(folder / "forum.dvtrace", folder / "homework/ada.dvtrace")
    (folder / "answers.txt").write_text("call aten::add.Tensor\n")
    for rank in range(2):
        shutil.copy(folder / "forum.dvtrace", folder / f"train.rank{rank}.dvtrace")
    return folder


def examples(command: str) -> list[list[str]]:
    """Return the command lines, without the remarks behind them."""
    lines = dispatchviz("help", command).out.partition("  Examples:\n")[2].split("\n\n")[0].splitlines()
    return [shlex.split(re.split(r" {2,}", line.strip())[0]) for line in lines]


def status(command: str, arguments: list[str]) -> int:
    if command == "stack" and "--read" not in arguments:
        return 0 if HAS_STACK else 2
    if ("--engine", "torch") in pairwise(arguments) and not HAS_TORCH:
        return 2
    if command == "why" and any("backward" in each for each in arguments):
        return 1  # a program that fails
    if "--goals" in arguments:
        return 1  # the homework reaches none
    return STATUS.get(command, 0)


@pytest.mark.parametrize("command", some(list(COMMANDS), 3))
def test_each_example_works(command: str, folder: Path) -> None:
    found = examples(command)
    assert found, "there are examples"
    for program, *arguments in found:
        assert (program, arguments[0]) == ("dispatchviz", command)
        if "--gallery" in arguments:
            arguments.insert(1, "--no-lessons")  # all lessons take a minute
        ended = dispatchviz(*arguments, cwd=folder)
        assert ended.status == status(command, arguments), ended.err
        assert ended.out or ended.status == 2 or "-o" in arguments or "--no-trace" in arguments


def test_help_alone_is_the_list_of_commands() -> None:
    assert dispatchviz("help") == dispatchviz("--help")


def test_help_for_two_commands() -> None:
    assert dispatchviz("help", "run", "trace").status == 2
