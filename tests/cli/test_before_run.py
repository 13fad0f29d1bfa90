"""Options that no run can satisfy are refused before the program runs; options that a program may satisfy are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli.checked_before_run import check_filters, check_only
from dispatchviz.core.record.event_filter import read_only
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.recording import EngineName

from .command import dispatchviz

PLAIN = "import torch\nx = torch.ones(2)\nx + 1\n"
NO_OPERATOR = r"neither PyTorch nor p.py has this operator; p.py was not run; did you mean aten::pad or .*\?"
NO_LINE = r"no file of the program has this line \(p.py has 3 lines\); it was not run"

REFUSED = [
    ({"operator": "ad"}, f"--op ad: {NO_OPERATOR}"),
    ({"operator": "aten::ad"}, f"--op aten::ad: {NO_OPERATOR}"),
    ({"operator": "torch.ad"}, "--op torch.ad: neither PyTorch nor"),
    ({"operator": "mylib::qqq"}, "neither PyTorch nor p.py has this operator; p.py was not run"),
    ({"operator": "add.Nope"}, "--op add.Nope: neither PyTorch nor"),
    ({"operator": ""}, "--op '': write an operator such as add, torch.add or aten::add.Tensor"),
    ({"operator": "a b"}, "--op 'a b': write an operator"),
    ({"line": "x"}, "--line x: write a line such as 6, 6-9 or forum.py:6"),
    ({"line": "0"}, "--line 0: lines start at 1"),
    ({"line": "9-3"}, "--line 9-3: lines start at 1, and a range ends with the higher number"),
    ({"line": "4"}, f"--line 4: {NO_LINE}"),
    ({"line": "other.py:1"}, f"--line other.py:1: {NO_LINE}"),
]
ONLY_REFUSED = [
    ("op=ad", f"--only op=ad: {NO_OPERATOR}"),
    ("op=ad*dd", "--only op=ad[*]dd: neither PyTorch nor"),
    ("line=99", f"--only line=99: {NO_LINE}"),
    ("line=q.py:1", f"--only line=q.py:1: {NO_LINE}"),
]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(PLAIN)
    return tmp_path / "p.py"


@pytest.mark.parametrize(("log", "message"), REFUSED)
def test_filter_that_matches_no_log_of_the_program_is_refused(log: dict[str, str], message: str, program: Path) -> None:
    with pytest.raises(DispatchvizError, match=message):
        check_filters(log, "p.py", "model")


@pytest.mark.parametrize(("only", "message"), ONLY_REFUSED)
def test_only_that_matches_nothing_is_refused(only: str, message: str, program: Path) -> None:
    with pytest.raises(DispatchvizError, match=message):
        check_only(read_only([only]), "p.py", "model")


BRINGING = {
    "its own library": "import torch\nlib = torch.library.Library('mylib', 'DEF')\n",
    "a package of others": "import torch, torchvision\n",
    "a module of its own that defines operators": "import operators\n",
    "code that is not in its text": "exec(open('x').read())\n",
    "a syntax error": "import torch (\n",
}


@pytest.mark.parametrize("way", BRINGING)
def test_an_operator_that_the_program_may_define_is_not_refused(way: str, program: Path) -> None:
    program.write_text(BRINGING[way])
    (program.parent / "operators.py").write_text("import torch.library\n")
    for name in ("mylib::ad", "ad"):
        check_filters({"operator": name}, "p.py", "model")
        check_only(read_only([f"op={name}"]), "p.py", "model")


@pytest.mark.parametrize("line", ["7", "helper.py:7", "package/inner.py:2"])
def test_a_line_of_a_module_of_the_program_is_not_refused(line: str, program: Path) -> None:
    program.write_text("import helper\nfrom package import inner\n")
    (program.parent / "helper.py").write_text("x = 1\n" * 7)
    (program.parent / "package").mkdir()
    (program.parent / "package" / "inner.py").write_text("x = 1\n" * 2)
    check_filters({"line": line}, "p.py", "model")
    check_only(read_only([f"line={line}"]), "p.py", "model")
    with pytest.raises(DispatchvizError, match="no file of the program has this line"):
        check_filters({"line": line[:-1] + "8"}, "p.py", "model")


@pytest.mark.parametrize(("log", "engine"), [
    ({"operator": "add", "line": "3"}, "model"),
    ({"operator": "aten.add.Tensor", "line": "p.py:1-9"}, "model"),
    ({"operator": "Tensor.add_"}, "model"),
    ({"operator": "of_a_later_release"}, "torch"),
    ({"level": "keys"}, "model"),
])  # fmt: skip
def test_filter_that_may_match_is_not_refused(log: dict[str, str], engine: EngineName, program: Path) -> None:
    check_filters(log, "p.py", engine)


@pytest.mark.long
@pytest.mark.parametrize("command", ["trace --op ad p.py", "run --line 9 p.py", "export p.py -o x.svg --only op=ad"])
def test_refused_filter_does_not_run_the_program(command: str, program: Path) -> None:
    program.write_text("open('ran', 'w').close()\n")
    assert dispatchviz(*command.split(), cwd=program.parent).status == 2
    assert not (program.parent / "ran").exists()


@pytest.mark.parametrize("command", ["trace --stack -1", "run --step -1", "open --step -1"])
def test_steps_below_zero_are_refused(command: str, program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from dispatchviz.cli import main

    assert main([*command.split(), "p.py"]) == 2
    assert "-1 is not in the range x>=0" in capfd.readouterr().err
