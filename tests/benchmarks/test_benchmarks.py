"""Every benchmark runs, with and without its rivals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import report, sizes
from benchmarks.__main__ import benchmarks, main
from benchmarks.goals import GOALS
from tests.amounts import some

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
OF_PYTORCH = ["commands", "live", "parts"]
"""Benchmarks that need an installed PyTorch."""
ALL = [
    "commands", "diagnosis", "dispatch", "engine", "fixture", "growth", "keeping", "live", "log", "loops", "opening",
    "operators", "pages", "parts", "pictures", "player", "saving", "start", "trace", "tui",
]  # fmt: skip
COMPARED = {"autograd": "HIPS autograd", "torch": "PyTorch"}
"""Rival package -> its name in the figures that compare with it."""


def test_every_module_with_a_main_is_found() -> None:
    """Modules without ``main`` only help the others."""
    assert benchmarks() == ALL
    helpers = {"__main__", "goals", "processes", "report", "seamless", "sizes"}
    assert {path.stem for path in (ROOT / "benchmarks").glob("*.py")} == {*ALL, *helpers}


def runs(name: str, tmp_path: Path) -> str:
    """Return the output of a benchmark with minimal sizes. Check that it measures what the table of goals shows."""
    if name == "tui":
        pytest.importorskip("pty", reason="needs a Unix terminal")
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick"]
    environment = {**os.environ, sizes.RESULTS: str(tmp_path / "results")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert not _goals_of(name) - {result.name for result in report.read(name, tmp_path / "results")}
    return done.stdout


def _goals_of(benchmark: str) -> set[str]:
    """Return the figures that a benchmark must measure here."""
    own = {goal.result for goal in GOALS if goal.benchmark == benchmark}
    if benchmark == "player":
        from tests.outputs.page.browser import CHROMIUM  # imports aiohttp, which not every environment has

        return own if CHROMIUM else set()
    missing = [name for rival, name in COMPARED.items() if not sizes.is_installed(rival)]
    return {figure for figure in own if not any(rival in figure for rival in missing)}


@pytest.mark.parametrize("name", some(sorted({*benchmarks()} - {*OF_PYTORCH}), 6))
def test_a_benchmark_runs(name: str, tmp_path: Path) -> None:
    output = runs(name, tmp_path)
    assert output.count("\n") >= 2
    if name in ("dispatch", "engine", "operators"):
        for rival, line in sizes.RIVALS.items():
            assert (line in output) is not sizes.is_installed(rival), (
                "a missing rival is listed with the command that installs it"
            )


@pytest.mark.torch
@pytest.mark.parametrize("name", some(["dispatch", "engine", "operators"], 3))
def test_a_benchmark_runs_beside_pytorch(name: str, tmp_path: Path) -> None:
    assert "of PyTorch under DebugMode" in runs(name, tmp_path)


@pytest.mark.torch
@pytest.mark.parametrize("name", some(["commands", "live", "loops"], 3))
def test_a_benchmark_of_pytorch_runs(name: str, tmp_path: Path) -> None:
    assert "of " in runs(name, tmp_path)


@pytest.mark.torch
def test_the_benchmark_of_parts_runs_on_a_real_pytorch(tmp_path: Path) -> None:
    rows = [line.split()[:2] for line in runs("parts", tmp_path).splitlines()[1:]]
    assert rows == [["adds", "everything"], ["adds", "op"]]


def test_a_missed_bar_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert sizes.judge({"a": 1.0, "b": 3.0}, {"a": 2.0, "b": 2.0}) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows == [["a", "1.00", "bar", "2"], ["b", "3.00", "bar", "2", "MISSED"]]
    assert sizes.judge({"a": 1.0}, {"a": 2.0}) == 0


def test_results_and_their_bars_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "results"
    monkeypatch.setenv(sizes.RESULTS, str(file))
    sizes.judge({"a": 1.0}, {"a": 2.0})
    sizes.judge({"b": 3.5}, {"b": 2.0})
    assert report.read("name", file) == [("name", "a", 1.0, 2.0), ("name", "b", 3.5, 2.0)]
    assert json.loads(file.read_text().splitlines()[0]) == ["a", 1.0, 2.0]
    assert report.read("name", tmp_path / "none") == []


def test_goals_show_what_is_missed_and_what_is_not_measured() -> None:
    first, second = GOALS[:2]
    rows = report.goals([report.Result(first.benchmark, first.result, first.most + 1, 9.0)])[2:]
    assert len(rows) == len(GOALS)
    assert first.why_missed
    assert rows[0].endswith(f"| {first.most + 1:.3g} | {first.most:g} | missed; {first.why_missed} |")
    assert rows[1].endswith(f"| - | {second.most:g} |  |")


def test_the_page_keeps_figures_of_benchmarks_that_did_not_run() -> None:
    first = report.page([report.Result("a", "x, s", 1.234, 2), report.Result("b", "y", 3, 4)])
    second = report.page([report.Result("b", "y", 5, 4)], first)
    assert "| x, s | 1.23 | 2 |" in second
    assert "| y | 5 | 4 |" in second
    assert "| y | 3 | 4 |" not in second
    assert second.count("## benchmarks.") == second.count("Measured at commit") == 2


def test_the_page_has_every_goal_and_each_benchmark_that_judges() -> None:
    text = report.PAGE.read_text(encoding="utf-8")
    heads = [line.removeprefix("## benchmarks.") for line in text.splitlines() if line.startswith("## benchmarks.")]
    assert heads == [name for name in ALL if name != "parts"]
    assert "| - |" not in text
    for goal in GOALS:
        assert f"| {goal.action} | {goal.result} | " in text


def test_a_failing_benchmark_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "benchmarks").mkdir()
    for name, body in {"__init__": "", "a": "raise SystemExit(3)", "b": "print('measured')"}.items():
        (tmp_path / f"benchmarks/{name}.py").write_text(body)
    monkeypatch.setattr("benchmarks.__main__.FOLDER", tmp_path / "benchmarks")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "a", "b"])
    assert main() == 1
    assert capfd.readouterr().out.split("| what")[0] == "-- a\n-- b\nmeasured\n"
