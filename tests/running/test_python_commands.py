"""Command lines of Python: which program they run, and the same with a runner in front."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dispatchviz.running.process.python_commands import is_fork_server, is_helper, python_of, with_runner

RUNNER = ["run.py", "{}"]


@pytest.mark.parametrize(
    ("typed", "recorded"),
    [
        (["train.py"], ["run.py", "{}", "train.py"]),
        (["-u", "train.py", "-c", "x"], ["-u", "run.py", "{}", "train.py", "-c", "x"]),
        (["-W", "error", "-Xdev", "train.py"], ["-W", "error", "-Xdev", "run.py", "{}", "train.py"]),
        (["-c", "pass", "-u"], ["run.py", "{}", "-c", "pass", "-u"]),
        (["-uc", "pass"], ["-u", "run.py", "{}", "-c", "pass"]),
        (["-cpass"], ["run.py", "{}", "-c", "pass"]),
        (["-m", "package.train", "--lr", "1"], ["run.py", "{}", "-m", "package.train", "--lr", "1"]),
        (["-OOmtrain"], ["-OO", "run.py", "{}", "-m", "train"]),
    ],
)
def test_runner_comes_after_the_options_of_python(typed: list[str], recorded: list[str]) -> None:
    assert with_runner(["python", *typed], RUNNER) == ["python", *recorded]


@pytest.mark.parametrize("typed", [[], ["-"], ["-i"], ["--version"], ["-V"], ["-S", "train.py"], ["-c"], ["-hu", "x"]])
def test_command_without_a_program_or_installed_packages_stays_as_it_is(typed: list[str]) -> None:
    assert with_runner(["python", *typed], RUNNER) is None


def test_words_may_be_bytes_and_paths() -> None:
    assert with_runner([b"python", b"-u", Path("a.py")], RUNNER) == ["python", "-u", *RUNNER, "a.py"]


def test_this_python_is_found_and_another_program_is_not() -> None:
    assert python_of([b"/nowhere/python", os.fsencode(sys.executable)]) == (sys.executable, "")
    assert python_of([b"/bin/sh"]) is None
    assert python_of([b"/nowhere/python"]) is None


def test_script_that_names_this_python_in_its_first_line_runs_under_it(tmp_path: Path) -> None:
    script = tmp_path / "torchrun"
    script.write_text(f"#!{sys.executable}\nimport torch\n")
    assert python_of([str(script)]) is None  # it cannot be executed
    script.chmod(0o755)
    assert python_of([str(script)]) == (sys.executable, str(script))


def test_helper_runs_no_code_of_the_program() -> None:
    assert is_helper(["python", "-c", "from multiprocessing.resource_tracker import main;main(5)"])
    assert is_helper([b"python", b"/site-packages/torch/_inductor/compile_worker/__main__.py", b"--pickler=x"])
    assert not is_helper(["python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)"])


def test_fork_server_is_no_helper_because_its_children_run_the_program() -> None:
    words = ["python", "-c", "from multiprocessing.forkserver import main; main(3, 4, [])"]
    assert is_fork_server(words)
    assert not is_helper(words)
