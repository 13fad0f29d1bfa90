"""A usage error is one clear line on stderr, exit status 2, and nothing on stdout."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.device.array_library import detect

from .command import FORUM, dispatchviz, refused, script

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
        "cannot write a.gif. Pictures: .svg .dot .png .pdf. Traces: .dvtrace .jsonl .jsonl.gz. Tables: .parquet. ",
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
    "two kinds at once": (["export", FORUM, "-o", "a.svg", "--format", "png"], "is not a name for --format png"),
    "step is no number": (["open", "a.jsonl", "--step", "x"], "'x' is not a valid integer"),
    "operator": (["table", "addd"], "there is no operator 'addd'; did you mean"),
    "overload": (["why", "to", "CPU"], "aten::to has"),
    "key": (["why", "add", "CUDDA"], "there is no dispatch key 'CUDDA'; did you mean CUDA?"),
    "old key": (["table", "add", "Named"], "Release 2.13 removed named tensors"),
    "alias": (["why", "add", "Autograd"], "Autograd is an alias"),
    "no key": (["why", "add"], "name an operator and a key, such as: dispatchviz why add AutogradCUDA"),
    "no operator": (["table"], "name an operator, such as: dispatchviz table add"),
    "build": (["table", "add", "--build", "rocm"], "'rocm' is not one of 'cpu', 'cuda'"),
    "no option": (["table", "add", "--foo"], "No such option '--foo'"),
    "no value": (["why", "--error"], "'--error' requires an argument"),
    "too much": (["why", "--error", "-", "add"], "--error takes no operator"),
    "negative": (["keys", "-5"], "a raw key set is a number from 0 to 2**64 - 1, not -5"),
    "layout": (["keys", "1", "--release", "0.4"], "the layout of release '0.4' is not known"),
    "release": (
        ["table", "add", "--release", "2.5"],
        "the registrations of PyTorch 2.5 are not known; known releases are 2.6 (2.6.0), 2.7 (2.7.1)",
    ),
    "another patch": (["why", "add", "CPU", "--release", "2.9.5"], "PyTorch 2.9.5 are not known"),
    "release of a key": (["keys", "CPU", "--release", "1.7"], "PyTorch 1.7 are not known"),
    "key of a release": (["keys", "AutogradMAIA", "--release", "2.7"], "it came in 2.8"),
    "key that a release removed": (["why", "add", "Named", "--release", "2.13"], "it was removed in 2.13"),
    "alias of a release": (["why", "add", "Autograd", "--release", "2.6"], "it covers 17 keys; name one"),
    "new operator": (
        ["table", "linalg_matrix_sqrth", "--release", "2.9"],
        "PyTorch 2.9 has no operator 'linalg_matrix_sqrth': it came in 2.14",
    ),
    "removed operator": (["table", "align_to"], "PyTorch 2.14 has no operator 'align_to': it was removed in 2.13"),
    "replaced operator": (["table", "qr"], "the operator 'qr' was removed in 2.14; use aten::linalg_qr"),
    "operator of no release": (["table", "addd", "--release", "2.9"], "there is no operator 'addd'; did you mean"),
    "history of a release": (["table", "add", "--history", "--release", "2.9"], "--history shows the table of PyTorch"),
    "picture of a release": (["table", "add", "-o", "a.svg", "--release", "2.9"], "-o draws the table of PyTorch"),
    "since a release": (["why", "add", "CPU", "--since", "--release", "2.9"], "--since compares all releases"),
    "since of no key": (["why", "add", "--since"], "name an operator and a key"),
    "since of no operator": (["why", "addd", "CPU", "--since"], "no release from 2.6 to 2.14 has an operator 'addd'"),
    "since of an error": (["why", "--error", "-", "--since"], "--since goes with OP KEY, not with --error"),
    "no such log": (["why", "--error", "nope.txt"], "cannot read nope.txt"),
    "code of nothing": (["codegen", "softmx"], "did you mean"),
    "another file": (
        ["codegen", "add", "--file", "VariableType_3.cpp"],
        "nothing for aten::add.Tensor into 'VariableType_3.cpp', did you mean VariableType_2.cpp? It writes into:",
    ),
    "another file of views": (
        ["codegen", "add_", "--file", "ADInplaceOrView"],
        "did you mean ADInplaceOrViewType_0.cpp? It writes into: python_variable",
    ),
    "no file of code": (
        ["codegen", "add_", "--file", "zzz"],
        "into 'zzz'. It writes into: python_variable_methods.cpp",
    ),
    "no text": (["codegen", "xlogy.Tensor", "--file", "VariableType"], "codegen xlogy.Tensor --real shows it"),
    "file and classes": (
        ["codegen", "add", "--file", "x", "--structured"],
        "cannot be combined with --file",
    ),
    "not structured": (["codegen", "linear", "--structured"], "aten::linear has no structured kernel"),
    "another structured": (
        ["codegen", "sum", "--structured"],
        "sum.dim_IntList --structured shows one that does",
    ),
    "picture of code": (["codegen", "add", "-o", "a.svg"], "-o is for --structured, which is not given"),
    "no picture": (
        ["codegen", "add", "--structured", "-o", "a.txt"],
        "suffix must be one of .dot, .svg, .png, .pdf",
    ),
    "real classes": (["codegen", "add", "--structured", "--real"], "--structured cannot be combined with --real"),
    "classes of a build": (["codegen", "add", "--structured", "--build", "cpu"], "cannot be combined with --build"),
    "part of a picture": (["table", "add", "CPU", "-o", "a.svg"], "-o draws the whole table"),
    "picture of a table": (["table", "add", "-o", "a.txt"], "cannot write a.txt: the suffix must be"),
    "short": (["table", "add", "--short"], "--short goes with --history"),
    "help for nothing": (["help", "trce"], "there is no command 'trce', did you mean trace?"),
    "other forms": (["trace", "--format", "torch", "--level", "calls", "--op", "add", FORUM], "--level and --op with"),
    "both forms": (["run", "--json", "--level", "calls", FORUM], "--level with --json would do nothing: leave one of"),
    "no module": (["run", "-m", "nowhere"], "there is no module named nowhere: "),
    "no module in it": (["run", "-m", "nowhere.main"], "there is no module named nowhere.main: "),
    "no name": (["run", "-m", ""], "there is no module named : "),
    "ranks of the model": (["run", "--ranks", "--engine", "model", FORUM], "leave out --engine model"),
    "ranks on standard output": (["export", "-o", "-", "--ranks", FORUM], "name a file instead of -"),
    "step of ranks": (["run", "--ranks", "--step", "1", FORUM], "--step with --ranks would do nothing"),
    "folder without traces": (["open", "."], "there is no trace in .: record one with dispatchviz run --ranks"),
    "step of several traces": (["open", "--step", "1", "a.dvtrace", "b.dvtrace"], "--step with several traces would"),
    "a relative name": (["run", "-m", ".alone"], "there is no module named .alone: "),
}


@pytest.mark.parametrize(("args", "says"), MISTAKES.values(), ids=MISTAKES)
def test_usage_error_is_one_line_and_status_2(args: list[str], says: str, tmp_path: Path) -> None:
    assert says in refused(*args, cwd=tmp_path)


def test_usage_error_of_a_process_is_one_line() -> None:
    ended = dispatchviz("table", "add", "--build", "rocm")
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert refused("table", "add", "--build", "rocm") == ended.err


@pytest.mark.parametrize(("text", "says"), [
    ("import torch\nx = (\n", "program.py, line 2: SyntaxError: '(' was never closed"),
    ("\0", "not a Python program"),
])  # fmt: skip
def test_file_without_python_is_a_usage_error(text: str, says: str, tmp_path: Path) -> None:
    assert says in refused("run", script(tmp_path, text), cwd=tmp_path)


@pytest.mark.skipif(detect()[0] is not None, reason="there is a GPU here")
def test_cupy_without_a_gpu_says_why() -> None:
    ended = dispatchviz("trace", "--cuda", "cupy", FORUM)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == f"dispatchviz: --cuda cupy: {detect()[1]}; use --cuda auto or --cuda emulated\n"


def test_internal_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from dispatchviz import cli
    from dispatchviz.cli import doctor

    def fault() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(doctor, "examine", fault)
    with pytest.raises(ZeroDivisionError):
        cli.main(["doctor"])
