"""A word in the wrong place: the error says what it names, and shows the command that was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli import main
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.outputs.trace_files import save_trace

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
"""Words that resemble nothing."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text("import torch\n")
    save_trace(Trace(Header(cuda="none", program="a.py"), []), tmp_path / "run.dvtrace")


@pytest.mark.parametrize("typed", MEANT)
def test_error_shows_the_other_meaning_of_a_word(typed: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 2
    said = capfd.readouterr().err.strip().partition(" (see ")[0]
    assert said.endswith(MEANT[typed])
    assert "\n" not in said


@pytest.mark.parametrize("typed", UNKNOWN)
def test_word_without_other_meaning_gets_no_hint(typed: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 2
    said = capfd.readouterr().err
    assert "did you mean" not in said
    assert ": dispatchviz" not in said
