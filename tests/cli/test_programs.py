"""The commands that run a program or open a trace, from the outside."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from dispatchviz.core.device.array_library import detect
from dispatchviz.core.record.events import SourceLine
from dispatchviz.core.record.trace_file import Trace
from tests.steps import steps

from .command import FORUM, LOG_INSTEAD, Ended, dispatchviz, script

pytestmark = pytest.mark.long

RAISES = "import torch\nx = torch.zeros(2, requires_grad=True)\nprint('so far')\nx.add_(1)\n"
LEAF = "a leaf Variable that requires grad is being used in an in-place operation."


@cache
def forum(*args: str) -> Ended:
    """Run ``trace`` on the founding program."""
    return dispatchviz("trace", *args, "examples/forum.py")


def test_the_torch_log_of_the_founding_program() -> None:
    ended = forum("--format", "torch")
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    add = lines.index(" [call] op=[aten::add.Tensor], key=[AutogradCUDA]")
    assert lines[add + 1] == "  [redispatch] op=[aten::add.Tensor], key=[CUDA]"


def test_the_text_log_of_the_founding_program() -> None:
    ended = forum()
    assert (ended.status, ended.err) == (0, "")
    head, *rest = ended.out.splitlines()
    cuda = "CuPy on" if detect()[0] else "emulated on NumPy ("
    assert head.startswith(f"examples/forum.py on the model of PyTorch 2.14.1, cuda: {cuda}")
    text = "\n".join(rest)
    assert all(
        words in text for words in ("line 6  z = torch.add(x, y)", "0x1000010002", "0x10002", "no difference here")
    )


def test_the_jsonl_log_is_a_trace_file(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(forum("--format", "jsonl").out)
    dispatchviz("trace", "--format", "jsonl", "-o", tmp_path / "o.jsonl", "examples/forum.py")
    dispatchviz("run", "--save", tmp_path / "s.jsonl.gz", "examples/forum.py")
    texts = [(tmp_path / name).read_bytes() for name in ("t.jsonl", "o.jsonl")]
    assert texts == [texts[0], gzip.decompress((tmp_path / "s.jsonl.gz").read_bytes())]
    assert len(Trace.load(tmp_path / "t.jsonl")) == texts[0].count(b"\n") - 1


def test_run_and_open_print_the_log_if_there_is_no_terminal(tmp_path: Path) -> None:
    run = dispatchviz("run", "--save", tmp_path / "t.jsonl", "examples/forum.py")
    opened = dispatchviz("open", tmp_path / "t.jsonl")
    assert run == opened == (0, forum().out, LOG_INSTEAD)
    for command in (("open", "--plain"), ("run", "--plain"), ("trace",)):
        assert dispatchviz(*command, tmp_path / "t.jsonl") == forum()


def test_the_script_gets_its_arguments(tmp_path: Path) -> None:
    name = script(tmp_path, "import sys\nprint(sys.argv)\n")
    for command in (["run", "--plain"], ["trace"], ["trace", "--format", "torch"]):
        ended = dispatchviz(*command, name, "--lr", "-x", "3", cwd=tmp_path)
        assert (ended.status, ended.err) == (0, "['program.py', '--lr', '-x', '3']\n")


@pytest.mark.parametrize("ours", [["--save", "weights.pt"], ["--step", "3"], ["-o", "x"], ["--", "--plain"], ["-h"]])
def test_words_after_the_script_are_its_arguments(ours: list[str], tmp_path: Path) -> None:
    name = script(tmp_path, "import sys\nprint(sys.argv)\n")
    for command in (["run", "--plain"], ["trace"]):
        ended = dispatchviz(*command, name, *ours, cwd=tmp_path)
        assert (ended.status, ended.err) == (0, f"{[name, *ours]}\n")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_two_dashes_may_precede_the_script(tmp_path: Path) -> None:
    name = script(tmp_path, "import sys\nprint(sys.argv)\n")
    assert dispatchviz("run", "--plain", "--", name, "a", cwd=tmp_path).err == "['program.py', 'a']\n"


def test_export_takes_script_arguments_after_two_dashes(tmp_path: Path) -> None:
    name = script(tmp_path, "import sys\nprint(sys.argv)\n")
    ended = dispatchviz("export", name, "-o", "a.jsonl", "--", "--lr", "3", cwd=tmp_path)
    assert ended == (0, "['program.py', '--lr', '3']\n", "")
    assert Trace.load(tmp_path / "a.jsonl").header.arguments == ("--lr", "3")


def test_output_stays_on_stdout_when_the_log_goes_to_a_file(tmp_path: Path) -> None:
    name = script(tmp_path, "print('hello')\n")
    ended = dispatchviz("trace", "-o", "log.txt", name, cwd=tmp_path)
    assert ended == (0, "hello\n", "")
    assert "printed hello" in (tmp_path / "log.txt").read_text()


@pytest.mark.parametrize("command", [["run", "--plain"], ["trace", "--format", "torch"], ["export", "-o", "g.jsonl"]])
def test_a_program_that_raises_keeps_its_trace(command: list[str], tmp_path: Path) -> None:
    ended = dispatchviz(*command, script(tmp_path, RAISES), cwd=tmp_path)
    assert ended.status == 1
    traceback, begin, rest = ended.err.removeprefix("so far\n").partition("dispatchviz: ")
    assert traceback.splitlines()[-2:] == ["    x.add_(1)", f"RuntimeError: {LEAF}"]
    assert traceback.count("  File ") == 1
    *why, said = (begin + rest).splitlines(keepends=True)
    assert all(line.startswith(("dispatchviz: why: ", "dispatchviz: try: ")) for line in why)
    assert bool(why) == ("--plain" not in command)  # the log contains it
    assert said.startswith(
        f"dispatchviz: program.py, line 4: RuntimeError: {LEAF} (the trace is kept: dispatchviz open "
    )
    path = said.rpartition("dispatchviz open ")[2].removesuffix(")\n")
    assert type(Trace.load(tmp_path / path)[-1]).__name__ == "ProgramRaised"
    assert "| why  x (line " in dispatchviz("open", path, cwd=tmp_path).out


def test_trace_of_a_failed_program_is_saved_where_requested(tmp_path: Path) -> None:
    ended = dispatchviz("trace", "--save", "mine.jsonl", script(tmp_path, RAISES), cwd=tmp_path)
    assert ended.err.endswith("(the trace is kept: dispatchviz open mine.jsonl)\n")
    assert (tmp_path / "mine.jsonl").exists()


def test_the_exit_status_of_a_program_is_its_own(tmp_path: Path) -> None:
    ended = dispatchviz("trace", script(tmp_path, "raise SystemExit(7)\n"), cwd=tmp_path)
    assert (ended.status, ended.err) == (7, "")


def test_a_file_that_was_cut_off_opens_up_to_the_cut(tmp_path: Path) -> None:
    text = forum("--format", "jsonl").out
    (tmp_path / "cut.jsonl").write_text(text[: len(text) // 2])
    ended = dispatchviz("open", "--plain", "cut.jsonl", cwd=tmp_path)
    assert ended.status == 0
    assert ended.err.startswith("dispatchviz: cut.jsonl is cut off: it opens up to step ")
    assert ended.err.count("\n") == 1
    assert "line 4  y = torch.randn(2).to(device)" in ended.out


def test_export_writes_what_the_suffix_says(tmp_path: Path) -> None:
    assert dispatchviz("export", FORUM, "-o", "a.jsonl", cwd=tmp_path) == (0, "", "")
    for name in ("a.svg", "b.svg", "a.dot", "a.png", "a.jsonl.gz"):
        assert dispatchviz("export", "a.jsonl", "-o", name, cwd=tmp_path) == (0, "", "")
    assert dispatchviz("export", FORUM, "-o", "c.svg", cwd=tmp_path) == (0, "", "")
    pictures = [(tmp_path / name).read_bytes() for name in ("a.svg", "b.svg", "c.svg")]
    assert pictures == [pictures[0]] * 3
    assert all(words in pictures[0] for words in (b"SumBackward0", b"AddBackward0", b"AccumulateGrad", b"alpha"))
    assert (tmp_path / "a.dot").read_text().startswith("digraph")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()


def test_a_program_without_a_graph_has_no_picture(tmp_path: Path) -> None:
    ended = dispatchviz("export", script(tmp_path, "x = 1\n"), "-o", "a.svg", cwd=tmp_path)
    assert ended.status == 2
    begin = "dispatchviz: nothing to draw: program.py has no backward Nodes (the trace is kept: dispatchviz open "
    assert ended.err.startswith(begin)
    assert steps(Trace.load(ended.err.removeprefix(begin).removesuffix(")\n")), SourceLine)
    assert not (tmp_path / "a.svg").exists()


def test_emulated_cuda_is_reported_and_changes_no_step() -> None:
    head, steps = forum("--cuda", "emulated").out.split("\n", 1)
    assert head.endswith("cuda: emulated on NumPy (requested)")
    assert steps == forum().out.split("\n", 1)[1]


def test_cuda_none_is_a_machine_without_a_device(tmp_path: Path) -> None:
    asks = "import torch\nprint(torch.ones(1, device='cuda' if torch.cuda.is_available() else 'cpu').device)\n"
    asked = dispatchviz("trace", "--cuda", "none", script(tmp_path, asks), cwd=tmp_path)
    assert asked.out.splitlines()[0].endswith("cuda: none (requested)")
    assert "printed cpu" in asked.out
    needs = dispatchviz("trace", "--cuda", "none", FORUM)
    assert needs.status == 1
    assert "RuntimeError: No CUDA GPUs are available" in needs.err


def test_closed_output_is_not_an_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m dispatchviz trace {FORUM} | head -n 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stderr, done.stdout.count("\n")) == ("", 1)


def test_ctrl_c_interrupts_a_program_and_keeps_the_trace(tmp_path: Path) -> None:
    text = "import os, signal, torch\ntorch.ones(2)\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(9): pass\n"
    for command in (["run", "--plain"], ["trace"], ["export", "-o", "a.jsonl"]):
        ended = dispatchviz(*command, script(tmp_path, text), cwd=tmp_path)
        assert ended.status == -signal.SIGINT
        begin, _, path = ended.err.rpartition("dispatchviz open ")
        assert begin.endswith("\nKeyboardInterrupt\ndispatchviz: program.py, line 3: interrupted (the trace is kept: ")
        assert len(Trace.load(tmp_path / path.removesuffix(")\n"))) > 5


def test_ctrl_c_while_the_log_is_printed_keeps_the_trace(tmp_path: Path) -> None:
    name = script(tmp_path, "import torch\nfor _ in range(300):\n    torch.ones(2)\n")
    command = [sys.executable, "-m", "dispatchviz", "trace", name]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        process.stdout.readline()  # the program has ended; the rest does not fit into the pipe
        process.send_signal(2)
        _, said = process.communicate()
    assert process.returncode == -signal.SIGINT
    begin, _, path = said.rpartition("dispatchviz open ")
    assert begin == "dispatchviz: interrupted (the trace is kept: "
    assert len(Trace.load(path.removesuffix(")\n"))) > 300
