"""Options of ours after a program go to the program. A remark says so only if the program cannot want them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from dispatchviz.cli import check_command, run_command, stack_command, trace_command

from .command import dispatchviz

COMMANDS = {
    module.command.name: module.command for module in (check_command, run_command, stack_command, trace_command)
}

PLAIN = "import torch\ntorch.ones(2)\n"
READING = {
    "sys": "import sys\nprint(sys.argv)\n",
    "argparse": "import argparse\nargparse.ArgumentParser().parse_known_args()\n",
    "a name of sys": "from sys import argv as words\n",
    "all of sys": "from sys import *\n",
    "a package of others": "import absl.app\n",
    "a module of its own": "import module\n",
    "other code": "exec(open('x').read())\n",
    "a name that is made": "import sys\ngetattr(sys, 'ar' + 'gv')\n",
    "the process": "open('/proc/self/cmdline')\n",
    "unittest": "import unittest\nunittest.main()\n",
    "no Python": "import torch (\n",
}
"""Programs that may read their arguments, each in another way."""


@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def remark(folder: Path, capsys: pytest.CaptureFixture[str], text: str, *words: str) -> str:
    """Parse a command line with a program of that text, without running it."""
    (folder / "p.py").write_text(text)
    (folder / "module.py").write_text("import sys\nprint(sys.argv)\n")
    command, *rest = words
    COMMANDS[command].make_context(command, rest, click.Context(click.Group(), info_name="dispatchviz"))
    return capsys.readouterr().err


MEANT = [
    ("trace p.py --format torch -o out.log", "--format torch -o out.log", "trace --format torch -o out.log p.py"),
    ("trace --level keys p.py --lr 3 --op=add", "--op=add", "trace --level keys --op=add p.py --lr 3"),
    ("run p.py --plain", "--plain", "run --plain p.py"),
    ("run --step 3 p.py x --save", "--save", "run --step 3 --save p.py x"),
    ("check p.py --json", "--json", "check --json p.py"),
    ("stack --key CPU add p.py --call 2", "--call 2", "stack --key CPU add --call 2 p.py"),
]


@pytest.mark.parametrize(("typed", "ours", "meant"), MEANT)
def test_remark_shows_the_corrected_command(
    typed: str,
    ours: str,
    meant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert remark(tmp_path, capsys, PLAIN, *typed.split()) == (
        f"dispatchviz: {ours} was passed to p.py, which reads no arguments; "
        f"options of dispatchviz come before it: dispatchviz {meant}\n"
    )


@pytest.mark.parametrize("way", READING)
def test_a_program_that_may_read_its_arguments_gets_no_remark(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert remark(tmp_path, capsys, READING[way], "trace", "p.py", "--format", "torch") == ""


@pytest.mark.parametrize("typed", ["run p.py --lr 3", "run p.py -- --plain", "trace --format torch p.py", "run p.py"])
def test_arguments_that_are_no_options_of_ours_get_no_remark(
    typed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert remark(tmp_path, capsys, PLAIN, *typed.split()) == ""


@pytest.mark.long
def test_program_still_gets_the_arguments(tmp_path: Path) -> None:
    ended = dispatchviz("trace", "-c", "print(1)", "--format", "torch", cwd=tmp_path)
    assert (ended.status, ended.out.splitlines()[-1]) == (0, "1 >   printed 1")
    assert ended.err == (
        "dispatchviz: --format torch was passed to <string>, which reads no arguments; options of dispatchviz come "
        "before it: dispatchviz trace --format torch -c 'print(1)'\n1\n"
    )
