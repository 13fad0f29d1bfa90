"""A trace in place of a program is opened, and ``-`` is standard input wherever a file is read or written."""

from __future__ import annotations

import gzip
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dispatchviz.core.record.events import FallthroughSkipped, KernelEntered
from dispatchviz.core.record.trace_file import Trace
from tests.steps import step

from .command import FORUM, dispatchviz, in_bytes, script

pytestmark = pytest.mark.long

PROGRAM = b"import sys, torch\nprint(sys.argv, '__file__' in dir())\ntorch.ones(2).requires_grad_().sum().backward()\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the trace of the founding program, in each format, and its log."""
    folder = tmp_path_factory.mktemp("traces")
    for name in ("t.jsonl", "t.jsonl.gz"):
        assert dispatchviz("export", FORUM, "-o", folder / name).status == 0
    (folder / "nameless").write_bytes((folder / "t.jsonl.gz").read_bytes())
    return folder


NAMES = ["t.jsonl", "t.jsonl.gz", "nameless"]


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_opened_by_its_name_and_through_standard_input(name: str, folder: Path) -> None:
    log, raw = dispatchviz("open", "--plain", name, cwd=folder), (folder / name).read_bytes()
    assert log.status == 0
    assert "line 6  z = torch.add(x, y)" in log.out
    assert dispatchviz("run", "--plain", name, cwd=folder) == dispatchviz("trace", name, cwd=folder) == log
    torch = dispatchviz("trace", "--format", "torch", FORUM)
    assert dispatchviz("trace", "--format", "torch", name, cwd=folder) == torch
    for command in (["open", "--plain"], ["run", "--plain"], ["trace"]):
        assert dispatchviz(*command, "-", given=raw) == log
    written = in_bytes("export", "-", "-o", "-", "--format", "jsonl", given=raw)
    assert written.stdout == (folder / "t.jsonl").read_bytes()


@pytest.mark.parametrize("command", ["run", "trace"])
def test_a_trace_takes_no_arguments(command: str, folder: Path) -> None:
    ended = dispatchviz(command, "t.jsonl", "--step", "3", cwd=folder)
    assert ended.status == 2
    assert "t.jsonl is a saved trace and takes no arguments (--step)" in ended.err


def test_a_program_comes_through_standard_input(tmp_path: Path) -> None:
    for command in (["run", "--plain"], ["trace"]):
        ended = dispatchviz(*command, "-", "-a", given=PROGRAM)
        assert (ended.status, ended.err) == (0, "['-', '-a'] False\n")
        assert ended.out.startswith("<stdin> on the model of PyTorch 2.14.1, cuda: ")
        assert "line 3  torch.ones(2).requires_grad_().sum().backward()" in ended.out
    ended = dispatchviz("export", "-", "-o", tmp_path / "a.svg", "--", "x", given=PROGRAM)
    assert ended == (0, "['-', 'x'] False\n", "")
    assert "SumBackward0" in (tmp_path / "a.svg").read_text()


def test_a_program_may_come_through_a_pipe(tmp_path: Path) -> None:
    """The shell's ``<(...)`` gives a pipe, which can be read only once."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as writer:
        writer.submit(pipe.write_text, "import torch\nprint(torch.ones(1).sum())\n", "utf-8")
        done = dispatchviz("trace", str(pipe))
    assert done.status == 0
    assert done.status == 0
    assert "tensor(1.)" in done.out + done.err


def test_a_program_of_standard_input_that_raises_says_where() -> None:
    ended = dispatchviz("run", "-", given=b"def f():\n    raise KeyError(1)\nf()\n")
    assert ended.status == 1
    assert ended.err.startswith("Traceback (most recent call last):\n")  # as under Python
    assert "\ndispatchviz: <stdin>, line 2: KeyError: 1 (the trace is kept: dispatchviz open " in ended.err


def test_export_writes_standard_output(folder: Path) -> None:
    dispatchviz("export", "t.jsonl", "-o", "a.svg", cwd=folder)
    for form, expected in {
        (): (folder / "a.svg").read_bytes(),
        ("--format", "svg"): (folder / "a.svg").read_bytes(),
        ("--format", "jsonl"): (folder / "t.jsonl").read_bytes(),
        ("--format", "jsonl.gz"): gzip.compress((folder / "t.jsonl").read_bytes()),
    }.items():
        done = in_bytes("export", "-o", "-", *form, "t.jsonl", cwd=folder)
        assert (done.returncode, unpacked(done.stdout), done.stderr) == (0, unpacked(expected), b"")
    assert in_bytes("export", "-o", "-", "--format", "png", "t.jsonl", cwd=folder).stdout.startswith(b"\x89PNG")


def unpacked(data: bytes) -> bytes:
    """Decompress data, because gzip may split the same content into different members."""
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def test_program_output_is_not_in_the_picture(tmp_path: Path) -> None:
    name = script(tmp_path, PROGRAM.decode())
    ended = dispatchviz("export", "-o", "-", "--format", "dot", name, cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "['program.py'] True\n")
    assert ended.out.startswith("digraph backward {")


def test_format_option_allows_any_file_name(folder: Path) -> None:
    assert dispatchviz("export", "t.jsonl", "-o", "graph.gv", "--format", "dot", cwd=folder) == (0, "", "")
    assert (folder / "graph.gv").read_text().startswith("digraph")


def test_the_log_begins_at_a_step(folder: Path) -> None:
    """The log has the rows from there, the enclosing rows above them, and their reasons."""
    trace = Trace.load(folder / "t.jsonl")
    at = step(trace, KernelEntered)
    for command in (["open", "--view", "log"], ["open", "--level", "all", "--no-pager"], ["run", "--view", "log"]):
        out = dispatchviz(*command, "--step", str(at), "t.jsonl", cwd=folder).out
        rows = [int(line.split()[0]) for line in out.splitlines() if line[:4].strip().isdigit()]
        assert rows == [event.seq for event in trace.ancestors(at)][::-1] + list(range(at, len(trace)))


def test_the_reason_of_the_step_is_given(folder: Path) -> None:
    """The whole log shows this reason at an earlier step and does not repeat it."""
    trace = Trace.load(folder / "t.jsonl")
    at = step(trace, FallthroughSkipped, -1)
    lines = dispatchviz("open", "--view", "log", "--step", str(at), "t.jsonl", cwd=folder).out.splitlines()
    row = next(number for number, line in enumerate(lines) if line.startswith(f"{at} "))
    assert "|" in lines[row + 1]


def test_a_damaged_trace_opens_up_to_the_damage(folder: Path, tmp_path: Path) -> None:
    raw = bytearray((folder / "t.jsonl.gz").read_bytes())
    raw[-800:-700] = b"\xff" * 100
    (tmp_path / "damaged.jsonl.gz").write_bytes(raw)
    ended = dispatchviz("open", "--plain", "damaged.jsonl.gz", cwd=tmp_path)
    assert (ended.status, ended.err.count("\n")) == (0, 1)
    assert ended.err.startswith("dispatchviz: damaged.jsonl.gz is cut off: it opens up to step ")
