"""``--limit`` bounds the recording of a program, and the program runs on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file import Trace
from tests.cli.command import dispatchviz, script

pytestmark = pytest.mark.long

LOOP = "import torch\nx = torch.ones(2)\nfor i in range(200):\n    x = x + 1\nprint(x)\n"
TRACED = ("trace", "-o", "/dev/null")


@pytest.mark.parametrize("name", ["t.dvtrace", "t.jsonl", "t.jsonl.gz"])
def test_limit_of_events_bounds_the_file_not_the_program(name: str, tmp_path: Path) -> None:
    program = script(tmp_path, LOOP)
    assert dispatchviz(*TRACED, "--save", name, program, cwd=tmp_path).status == 0  # an older one is replaced
    ended = dispatchviz(*TRACED, "--save", name, "--limit", "500", program, cwd=tmp_path)
    assert (ended.status, ended.out) == (0, "tensor([201., 201.])\n")
    assert ended.err == (
        "dispatchviz: the recording ended before step 500: the limit of 500 events is reached; the program ran on, "
        f"what was recorded is in {tmp_path / name}\n"
    )
    assert len(Trace.load(tmp_path / name)) == 500
    assert {path.name for path in tmp_path.iterdir()} == {"program.py", name}


def test_a_limit_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    program = script(tmp_path, LOOP)
    limited = dispatchviz(*TRACED, "--save", "a.jsonl", "--limit", "1_000_000", program, cwd=tmp_path)
    free = dispatchviz(*TRACED, "--save", "b.jsonl", program, cwd=tmp_path)
    assert limited == free
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_size_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    program = script(tmp_path, LOOP.replace("200", "3000"))
    ended = dispatchviz(*TRACED, "--save", "t.jsonl", "--limit", "100kB", program, cwd=tmp_path)
    assert (ended.status, ended.out) == (0, "tensor([3001., 3001.])\n")
    assert "the limit of 100,000 bytes is reached" in ended.err
    assert 100_000 <= (tmp_path / "t.jsonl").stat().st_size < 1_000_000


@pytest.mark.parametrize("limit", ["0", "-1", "1e6", "500 apples", "NaN"])
def test_bad_limit_is_refused_in_one_line(limit: str, tmp_path: Path) -> None:
    ended = dispatchviz(*TRACED, f"--limit={limit}", script(tmp_path, LOOP), cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    means = "write a number of events (1000000) or a size (500MB, 2GiB), above 0, or none"
    assert ended.err == f"dispatchviz: the limit '{limit}' is not valid: {means}\n"


@pytest.mark.parametrize("options", [("run", "--no-trace"), ("run", "--plain"), TRACED])
def test_limit_for_a_saved_trace_is_refused(options: tuple[str, ...], tmp_path: Path) -> None:
    program = script(tmp_path, LOOP)
    dispatchviz(*TRACED, "--save", "t.jsonl", program, cwd=tmp_path)
    source = program if "--no-trace" in options else "t.jsonl"
    ended = dispatchviz(*options, "--limit", "5", source, cwd=tmp_path)
    assert ended.status == 2
    assert ended.err.startswith("dispatchviz: --limit with ")


def test_export_respects_the_limit(tmp_path: Path) -> None:
    program = script(tmp_path, LOOP)
    ended = dispatchviz("export", "--limit", "100", "-o", "t.dvtrace", program, cwd=tmp_path)
    assert "the limit of 100 events is reached; the program ran on, what was recorded is in " in ended.err
    assert len(Trace.load(tmp_path / "t.dvtrace")) == 100
    dispatchviz("export", "--only", "op=mul", "-o", "t.dvtrace", program, cwd=tmp_path)
    dispatchviz(*TRACED, "--only", "op=mul", "--save", "u.dvtrace", program, cwd=tmp_path)
    assert list(Trace.load(tmp_path / "t.dvtrace")) == list(Trace.load(tmp_path / "u.dvtrace"))
    refused = dispatchviz("export", "--limit", "100", "-o", "x.svg", "t.dvtrace", cwd=tmp_path)
    assert (refused.status, refused.err) == (
        2, "dispatchviz: --limit with a saved trace would do nothing: leave one of them out\n",
    )  # fmt: skip


# -- without --limit ---------------------------------------------------------------------------------------------------

SMALL = """\
import sys
from dispatchviz.core.record import recording_limit
recording_limit.DEFAULT_LIMIT = recording_limit.DEFAULT_LIMIT._replace(bytes=100_000)
from dispatchviz.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The command with a small default limit."""


def test_default_limit_is_reported_once_and_the_program_runs_on(tmp_path: Path) -> None:
    program = script(tmp_path, LOOP.replace("200", "3000"))
    words = [*TRACED, "--save", "t.dvtrace", str(program)]
    ended = subprocess.run([sys.executable, "-c", SMALL, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "tensor([3001., 3001.])\n")
    reason = "the default limit of 100,000 bytes is reached (limit none removes it, limit 20GB sets another)"
    steps = len(Trace.load(tmp_path / "t.dvtrace"))
    end = f"the recording ended before step {steps}: {reason}; the program"
    assert ended.stderr.splitlines() == [
        f"dispatchviz: {program}: {end} runs on",
        f"dispatchviz: {end} ran on, what was recorded is in {tmp_path / 't.dvtrace'}",
    ]
    free = subprocess.run(
        [sys.executable, "-c", SMALL, words[0], "--limit", "none", *words[1:]],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert (free.returncode, free.stdout, free.stderr) == (0, ended.stdout, "")
    assert len(Trace.load(tmp_path / "t.dvtrace")) > steps


# -- --strict ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [TRACED, ("export", "-o", "t.dvtrace"), ("run", "--plain")])
def test_strict_ends_a_cut_recording_with_3_and_a_whole_one_with_0(command: tuple[str, ...], tmp_path: Path) -> None:
    program = script(tmp_path, LOOP)
    assert dispatchviz(*command, "--limit", "500", program, cwd=tmp_path).status == 0
    assert dispatchviz(*command, "--limit", "500", "--strict", program, cwd=tmp_path).status == 3
    assert dispatchviz(*command, "--strict", program, cwd=tmp_path).status == 0


def test_strict_keeps_the_status_of_a_failed_program(tmp_path: Path) -> None:
    program = script(tmp_path, LOOP + "raise SystemExit(7)\n")
    assert dispatchviz(*TRACED, "--limit", "500", "--strict", program, cwd=tmp_path).status == 7


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file's size")
def test_strict_reports_a_full_disk(tmp_path: Path) -> None:
    program = script(tmp_path, LOOP.replace("200", "3000"))
    small = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n" + SMALL
    for option, status in (([], 0), (["--strict"], 3)):
        words = [*TRACED, "--line", "2", "--limit", "none", *option, "--save", "t.dvtrace", str(program)]
        ended = subprocess.run([sys.executable, "-c", small, *words], cwd=tmp_path, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (status, "tensor([3001., 3001.])\n")
        assert "File too large" in ended.stderr
