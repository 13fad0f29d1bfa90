"""The output and the report of ``make gpu``: without CuPy, and with the stand-in in its place."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import gpu_report
from tests.installed_cupy import STAND_IN, install

ROOT = Path(__file__).parents[1]
SMALL = """
import sys
from scripts import gpu_report
gpu_report.SIZE, gpu_report.ROUNDS, gpu_report.BATCH = 8, 1, 1
gpu_report.run_tests = lambda: gpu_report.Tests(3, 0, "3 passed in 1s", ("[1] tests/x.py: too old",))
sys.exit(gpu_report.main())
"""


def report(folder: Path, code: str = SMALL) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, "-c", code, str(folder / "gpu.md")]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="there is a CuPy here")
def test_missing_part_is_printed_in_one_line(tmp_path: Path) -> None:
    done = report(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"make gpu: {sys.executable} has no cupy: pip install 'cupy-cuda12x[ctk]'\n"
    assert not (tmp_path / "gpu.md").exists()


def test_a_cupy_without_a_gpu_is_printed_in_a_line(tmp_path: Path) -> None:
    install(tmp_path, "is_available = lambda: False")
    done = report(tmp_path)
    assert (done.returncode, done.stderr) == (2, f"make gpu: {sys.executable} has CuPy, but no usable GPU\n")


def test_report_lists_tests_program_and_operators(tmp_path: Path) -> None:
    install(tmp_path)
    done = report(tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "gpu.md").read_text().splitlines()
    assert "- device: stand-in" in lines
    assert "- tests marked `gpu`: 3 passed in 1s" in lines
    assert "  - skipped: [1] tests/x.py: too old" in lines
    assert [f"| {program} | the same as emulated |" in lines for program in gpu_report.PROGRAMS] == [True] * 10
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert rows == ["program", *gpu_report.PROGRAMS, "operator", *gpu_report.OPERATORS]
    assert len(gpu_report.OPERATORS) == 10
    assert gpu_report.is_current("\n".join(lines))


def test_a_difference_is_found(tmp_path: Path) -> None:
    """Here the last step is missing."""
    install(tmp_path, STAND_IN)
    changed = """
import scripts.gpu_report as gpu_report
events = gpu_report.events
gpu_report.PROGRAMS = gpu_report.PROGRAMS[:1]
gpu_report.events = lambda program, choice: events(program, choice)[: 9 if choice == "cupy" else 10]
"""
    done = report(tmp_path, changed + SMALL)
    assert done.returncode == 1
    assert "| examples/forum.py | 9 steps on the GPU, 10 emulated |" in done.stdout.splitlines()


def test_report_is_about_the_code_or_warns_that_it_is_not() -> None:
    """If this fails: run ``make gpu`` on a GPU, or ``python -m scripts.gpu_report --outdated`` without one."""
    assert gpu_report.is_current(gpu_report.REPORT.read_text(encoding="utf-8"))


def test_outdated_report_has_one_warning_below_its_title(tmp_path: Path) -> None:
    page = tmp_path / "gpu.md"
    page.write_text("# What ran on a GPU\n\n- code: `of another day`\n", encoding="utf-8")
    assert not gpu_report.is_current(page.read_text(encoding="utf-8"))
    for _ in range(2):
        gpu_report.warn(page)
        assert page.read_text(encoding="utf-8").split("\n\n") == [
            "# What ran on a GPU", gpu_report.OUTDATED, "- code: `of another day`\n",
        ]  # fmt: skip


def test_changed_code_has_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = gpu_report.code()
    monkeypatch.setattr(gpu_report, "ON_THE_GPU", (*gpu_report.ON_THE_GPU, str(tmp_path)))
    (tmp_path / "kernel.py").write_text("def kernel(): ...\n", encoding="utf-8")
    assert gpu_report.code() != before


@pytest.mark.parametrize(
    ("line", "passed", "failed"),
    [("12 passed, 3 deselected in 1.2s", 12, 0), ("1 failed, 2 passed, 1 error in 3s", 2, 1), ("no tests ran", 0, 0)],
)
def test_counts_are_read_off_the_last_line(line: str, passed: int, failed: int) -> None:
    assert gpu_report._count(line, "passed") == passed
    assert gpu_report._count(line, "failed") == failed
