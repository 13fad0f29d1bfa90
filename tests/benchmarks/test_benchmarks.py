"""Every benchmark runs, with and without its rivals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import sizes
from benchmarks.__main__ import benchmarks
from tests.amounts import some

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
OF_PYTORCH = ["live", "parts"]
"""Benchmarks that need an installed PyTorch."""
ALL = [
    *(
        "diagnosis", "dispatch", "engine", "growth", "live", "log", "opening", "operators", "parts", "pictures",
        "player",
        "saving", "start", "trace",
    ),
    "tui",
]  # fmt: skip


def test_every_module_with_a_main_is_found() -> None:
    """Modules without ``main`` only help the others."""
    assert benchmarks() == ALL
    helpers = {"__main__", "seamless", "sizes"}
    assert {path.stem for path in (ROOT / "benchmarks").glob("*.py")} == {*ALL, *helpers}


def runs(name: str) -> str:
    """Return the output of a benchmark with minimal sizes."""
    if name == "tui":
        pytest.importorskip("pty", reason="needs a Unix terminal")
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", some(sorted({*benchmarks()} - {*OF_PYTORCH}), 6))
def test_a_benchmark_runs(name: str) -> None:
    output = runs(name)
    assert output.count("\n") > 3
    if name in ("dispatch", "engine", "operators"):
        for rival, line in sizes.RIVALS.items():
            assert (line in output) is not sizes.is_installed(rival), (
                "a missing rival is listed with the command that installs it"
            )


@pytest.mark.torch
@pytest.mark.parametrize("name", some(["dispatch", "engine", "operators"], 3))
def test_a_benchmark_runs_beside_pytorch(name: str) -> None:
    assert "of PyTorch under DebugMode" in runs(name)


@pytest.mark.torch
def test_the_live_benchmark_runs_on_a_real_pytorch() -> None:
    rows = [line.split("  ")[0] for line in runs("live").splitlines()]
    assert {"as it is", "DebugMode", "cells watched, not recorded", "recorded", "afterwards"} <= {*rows}


@pytest.mark.torch
def test_the_benchmark_of_parts_runs_on_a_real_pytorch() -> None:
    rows = [line.split()[:2] for line in runs("parts").splitlines()[1:]]
    assert rows == [["adds", "everything"], ["adds", "op"]]


def test_a_missed_bar_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert sizes.judge({"a": 1.0, "b": 3.0}, {"a": 2.0, "b": 2.0}) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows == [["a", "1.00", "bar", "2"], ["b", "3.00", "bar", "2", "MISSED"]]
    assert sizes.judge({"a": 1.0}, {"a": 2.0}) == 0


def test_a_failing_benchmark_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/__main__.py").write_bytes((ROOT / "benchmarks/__main__.py").read_bytes())
    for name, body in {"a": "raise SystemExit(3)", "b": "print('measured')", "helper": ""}.items():
        text = f"def main():\n    {body}\nmain()\n" if body else ""
        (tmp_path / f"benchmarks/{name}.py").write_text(text)
    command = [sys.executable, "-m", "benchmarks"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "-- a\n-- b\nmeasured\n")
