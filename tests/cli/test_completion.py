"""Tab completes commands, options and their values, operators, keys and traces: by the protocol and in a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.cli.completion import joined
from tests.waiting import HANGS

from .command import ROOT

COMMAND = [sys.executable, "-c", "import sys; from dispatchviz.cli import main; sys.exit(main())"]


def asked(shell: str, *words: str, cwd: Path = ROOT) -> list[str]:
    """Return the completions that a shell gets when Tab is pressed at the end of the last word."""
    env = {
        **os.environ,
        "_DISPATCHVIZ_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "\n".join(["dispatchviz", *words]),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
    }
    done = subprocess.run(COMMAND, cwd=cwd, env=env, capture_output=True, text=True, timeout=HANGS, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def completed(*words: str, cwd: Path = ROOT) -> list[str]:
    return asked("bash", *words, cwd=cwd)


def test_commands_and_options_are_completed() -> None:
    assert completed("tr") == ["plain,trace"]
    assert completed("run", "--s") == ["plain,--save", "plain,--step", "plain,--strict"]
    assert completed("trace", "--format", "") == ["plain,text", "plain,torch", "plain,jsonl"]
    assert completed("table", "add", "--bu") == ["plain,--build"]
    assert completed("table", "add", "--build", "c") == ["plain,cpu", "plain,cuda"]


def test_examples_are_offered_where_no_folder_has_their_name(tmp_path: Path) -> None:
    assert completed("run", "examples/fo", cwd=tmp_path) == ["plain,examples/forum.py", "file,examples/fo"]
    assert completed("run", "examples/fo") == ["file,examples/fo"]


def test_operators_are_completed_in_the_notation_begun() -> None:
    assert completed("table", "addm") == ["plain,addmm", "plain,addmm_", "plain,addmv", "plain,addmv_"]
    assert completed("why", "torch.addmm") == ["plain,torch.addmm", "plain,torch.addmm_"]
    assert completed("codegen", "add.T") == ["plain,add.Tensor"]
    assert completed("table", "aten.add.T") == ["plain,aten.add.Tensor"]
    assert asked("zsh", "table", "aten::add.T")[1] == "aten::add.Tensor"


def test_words_that_bash_cuts_at_colons_are_joined() -> None:
    assert joined(["table", "aten", "::", "ad"]) == ["table", "aten::ad"]
    assert joined(["table", "aten", "::"]) == ["table", "aten::"]
    assert joined(["table", "aten", "::", "add.Tensor", ""]) == ["table", "aten::add.Tensor", ""]
    assert completed("table", "aten", "::", "add.T") == ["plain,add.Tensor"]
    assert completed("why", "aten", "::", "add.Tensor", "AutogradCU") == ["plain,AutogradCUDA"]


def test_keys_are_completed() -> None:
    assert completed("keys", "AutogradC") == ["plain,AutogradCPU", "plain,AutogradCUDA"]
    assert completed("table", "add", "autogradxl") == ["plain,AutogradXLA"]
    assert not [line for line in completed("keys", "") if "StartOf" in line]


def test_releases_are_completed() -> None:
    assert completed("table", "add", "--release", "2.1") == [f"plain,2.1{minor}" for minor in range(5)]
    assert completed("keys", "--release", "2.6") == ["plain,2.6"]


def test_traces_and_folders_are_completed(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl.gz", "c.py", "sub/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert completed("open", "", cwd=tmp_path) == ["plain,a.jsonl", "plain,b.jsonl.gz", "dir,"]
    assert completed("open", "sub/", cwd=tmp_path) == ["plain,sub/d.jsonl", "dir,sub/"]
    assert completed("run", "--save", "b", cwd=tmp_path) == ["plain,b.jsonl.gz", "dir,b"]
    assert completed("run", "c", cwd=tmp_path) == completed("why", "--error", "c", cwd=tmp_path) == ["file,c"]


def test_words_after_the_script_are_not_our_options() -> None:
    for command in ("run", "trace"):
        assert completed(command, "train.py", "--s") == ["file,--s"]
        assert completed(command, "--plain", "train.py", "x") == ["file,x"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_the_same_completions(shell: str) -> None:
    def values(*words: str) -> str:
        return "\n".join(asked(shell, *words))

    assert "AutogradCUDA" in values("keys", "AutogradCU")
    assert "--save" in values("run", "--s")


def test_completion_works_in_bash(tmp_path: Path) -> None:
    """Run a shell that has read the script, with the words as bash cuts them, and read COMPREPLY afterward."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    (tmp_path / "dispatchviz").write_text(f"#!{sys.executable}\n{COMMAND[2].replace('; ', chr(10))}\n")
    (tmp_path / "dispatchviz").chmod(0o755)
    for name in ("a.jsonl", "with blank.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    script = """
        eval "$(_DISPATCHVIZ_COMPLETE=bash_source dispatchviz)"
        compopt() { :; }
        complete -p dispatchviz
        try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dispatchviz_completion dispatchviz
                printf '<%s>' "${COMPREPLY[@]}"; echo; }
        try dispatchviz ru
        try dispatchviz open ""
        try dispatchviz table aten :: addm
        try dispatchviz run f
    """
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [bash, "--norc", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _dispatchviz_completion dispatchviz",
        "<run>",
        "<a.jsonl><with blank.jsonl><folder>",
        "<addmm><addmm_><addmv><addmv_>",
        "<folder>",
    ]
