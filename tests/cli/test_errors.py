"""A mistake is one clear line on stderr, exit status 2, and nothing on stdout."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.device.array_library import detect

from .command import FORUM, dispatchviz, script

MISTAKES = {
    "missing script": (["run", "nope.py"], "cannot read nope.py: No such file or directory"),
    "missing trace": (["open", "nope.jsonl"], "cannot read nope.jsonl: No such file or directory"),
    "missing source": (
        ["export", "nope.jsonl.gz", "-o", "a.svg"],
        "cannot read nope.jsonl.gz: No such file or directory",
    ),
    "a folder": (["trace", "."], "cannot read .: Is a directory"),
    "no trace in standard input": (["open", "-"], "standard input is not a dispatchviz trace"),
    "no trace": (["open", FORUM], "is not a dispatchviz trace: its first line is not a trace header"),
    "suffix": (
        ["export", FORUM, "-o", "a.gif"],
        "a picture is .svg, .dot, .png or .pdf, a trace is .dvtrace, .jsonl or .jsonl.gz, a table is .parquet",
    ),
    "unwritable": (["trace", "-o", "no/such/folder/log", FORUM], "cannot write no/such/folder/log"),
    "unwritable trace": (["trace", "--save", "no/a.jsonl", FORUM], "cannot write no/a.jsonl"),
    "unknown format": (["trace", "--format", "xml", FORUM], "'xml' is not one of 'text', 'torch', 'jsonl'"),
    "unknown command": (["trce", FORUM], "there is no command 'trce', did you mean trace?"),
    "script for a command": (["a.py"], "did you mean dispatchviz run a.py?"),
    "no script": (["run"], "Missing argument 'SCRIPT-or-TRACE' (see dispatchviz run --help)"),
    "an option of nobody": (["run", "--lr", FORUM], "No such option '--lr'"),
    "the script's option": (
        ["export", FORUM, "--lr", "3", "-o", "a.svg"],
        "there is no option --lr; arguments of the script come after --",
    ),
    "the script's argument": (["export", FORUM, "3", "-o", "a.svg"], "3 is one argument too many; arguments of the"),
    "two kinds at once": (["export", FORUM, "-o", "a.svg", "--format", "png"], "not the name of what --format png"),
    "step is no number": (["open", "a.jsonl", "--step", "x"], "'x' is not a valid integer"),
}


@pytest.mark.parametrize(("args", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_status_2(args: list[str], says: str, tmp_path: Path) -> None:
    ended = dispatchviz(*args, cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert says in ended.err
    assert ended.err.startswith("dispatchviz: ")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(("text", "says"), [
    ("import torch\nx = (\n", "program.py, line 2: SyntaxError: '(' was never closed"),
    ("\0", "not a Python program"),
])  # fmt: skip
def test_a_file_that_is_not_python_is_a_mistake(text: str, says: str, tmp_path: Path) -> None:
    ended = dispatchviz("run", script(tmp_path, text), cwd=tmp_path)
    assert ended.status == 2
    assert says in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.skipif(detect()[0] is not None, reason="there is a GPU here")
def test_cupy_without_a_gpu_says_why() -> None:
    ended = dispatchviz("trace", "--cuda", "cupy", FORUM)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == f"dispatchviz: --cuda cupy: {detect()[1]}; use --cuda auto or --cuda emulated\n"


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from dispatchviz import cli
    from dispatchviz.cli import doctor

    def fault() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(doctor, "examine", fault)
    with pytest.raises(ZeroDivisionError):
        cli.main(["doctor"])
