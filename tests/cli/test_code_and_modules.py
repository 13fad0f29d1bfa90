"""``-c CODE`` and ``-m MODULE`` look to the program as under Python: arguments, paths, names, tracebacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dispatchviz.core.record.events import BindingEntered, SourceLine
from dispatchviz.core.record.trace_file import Trace
from tests.waiting import HANGS

from .command import dispatchviz, refused
from .test_completion import completed
from .test_terminal import in_terminal

pytestmark = pytest.mark.long

SHOW = """\
import sys
main = sys.modules["__main__"]
print(__name__, __package__, __spec__ and __spec__.name, __doc__, sorted(vars(main)))
print(sys.argv, repr(sys.path[0]), getattr(main, "__file__", None), type(__loader__).__name__)
"""

FILES = {
    "alone.py": f"{SHOW}def f():\n    raise ValueError('alone')\nf()\n",
    "package/__init__.py": "import sys\nprint('init', __name__, sys.argv)\n",
    "package/__main__.py": f"from . import part\n{SHOW}1 / 0\n",
    "package/part.py": "print(__name__, __package__)\nWORD = 'part'\n"
    "if __name__ == '__main__':\n    raise SystemExit(7)\n",
    "package/deep/__init__.py": "",
    "package/deep/inner.py": "from ..part import WORD\nfrom dataclasses import dataclass\nprint(WORD)\n"
    "@dataclass\nclass A:\n    x: int\nprint(A(3))\n",
    "bad.py": "print('x'\n",
    "raising/__init__.py": "raise KeyError('in the package')\n",
    "raising/__main__.py": "",
    "empty/__init__.py": "",
}

PROGRAMS = {
    "names": ["-c", SHOW],
    "arguments": ["-c", "import sys; print(sys.argv)", "-c", "--save", "x", "--", "-m"],
    "attached": ["-cimport sys; print(sys.argv)", "a"],
    "an error": ["-c", "def f():\n    raise ValueError(1)\nf()"],
    "a status": ["-c", "import sys; sys.exit(5)"],
    "a function pickled": ["-c", "import pickle\ndef f(): return 3\nprint(pickle.loads(pickle.dumps(f))())"],
    "text compiled within": ["-c", "exec('print(__name__)\\nraise KeyError(2)')"],
    "a warning": ["-c", "import warnings; warnings.warn('look out')"],
    "nothing": ["-c", ""],
    "a module": ["-m", "alone", "a", "-m", "--save"],
    "a module, attached": ["-malone"],
    "a package": ["-m", "package", "--", "x"],
    "a part": ["-m", "package.part"],
    "a deep part": ["-m", "package.deep.inner"],
    "a package without a main": ["-m", "empty"],
    "a missing part": ["-m", "package.nothing"],
    "a part of a part": ["-m", "package.part.nothing"],
    "a file's name": ["-m", "alone.py"],
    "a package that raises": ["-m", "raising"],
    "of the library": ["-m", "json.tool", "--help"],
}


class Seen(NamedTuple):
    status: int
    out: str
    err: list[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the modules."""
    folder = tmp_path_factory.mktemp("modules")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    return folder


def seen(folder: Path, *command: str) -> Seen:
    """Return output and status of a process, without the lines of dispatchviz itself."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False)
    return Seen(
        done.returncode, done.stdout, [line for line in done.stderr.splitlines() if line[:13] != "dispatchviz: "]
    )


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_is_seen_as_under_python(program: list[str], folder: Path) -> None:
    expected = seen(folder, sys.executable, *program)
    ours = (sys.executable, "-m", "dispatchviz")
    assert seen(folder, *ours, "trace", "-o", "/dev/null", *program) == expected
    assert seen(folder, *ours, "run", "--no-trace", *program) == expected


@pytest.mark.parametrize("program", [PROGRAMS["arguments"], PROGRAMS["a module"]], ids=["code", "module"])
def test_export_runs_code_and_modules(program: list[str], folder: Path) -> None:
    ours = (sys.executable, "-m", "dispatchviz", "export", "-o", "exported.jsonl")
    assert seen(folder, *ours, *program) == seen(folder, sys.executable, *program)
    assert Trace.load(folder / "exported.jsonl")


def test_lines_of_the_code_are_in_the_trace(tmp_path: Path) -> None:
    code = "import torch\nx = torch.ones(2)\nexec('x + 1')\nprint(x.sum())"
    ended = dispatchviz("trace", "--save", "t.jsonl", "-c", code, cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "tensor(2.)\n")
    trace = Trace.load(tmp_path / "t.jsonl")
    lines = [trace[step] for step in trace.steps_of(SourceLine)]
    assert [(line.file, line.line) for line in lines if isinstance(line, SourceLine)] == [
        ("<string>", number) for number in (1, 2, 3, 4)
    ]
    assert trace.header.sources == {"<string>": code}
    assert "line 3  exec('x + 1')" in ended.out
    assert [event.seq for event in trace if isinstance(event, BindingEntered)]


def test_lines_of_a_module_and_its_package_are_in_the_trace(folder: Path) -> None:
    dispatchviz("trace", "--save", "m.jsonl", "-m", "package", cwd=folder)
    trace = Trace.load(folder / "m.jsonl")
    assert trace.header.program == "package/__main__.py"
    lines = [trace[step] for step in trace.steps_of(SourceLine)]
    printing = {"package/__init__.py", "package/part.py", "package/__main__.py"}
    assert {line.file for line in lines if isinstance(line, SourceLine)} == printing
    assert trace[-1].message == "division by zero"  # type: ignore[union-attr]


def test_syntax_error_is_reported_in_one_line(folder: Path) -> None:
    for program, place in ((["-c", "x = ("], "<string>, line 1"), (["-m", "bad"], "bad.py, line 1")):
        said = f"dispatchviz: {place}: SyntaxError: '(' was never closed\n"
        assert dispatchviz("trace", *program, cwd=folder) == (2, "", said)


@pytest.mark.parametrize("option", ["-c", "-m"])
@pytest.mark.parametrize("command", [["run"], ["trace"], ["export", "-o", "a.jsonl"]])
def test_option_without_its_program_is_refused(option: str, command: list[str], tmp_path: Path) -> None:
    said = f"dispatchviz: Option '{option}' requires an argument (see dispatchviz "
    assert refused(*command, option, cwd=tmp_path).startswith(said)


def test_an_option_of_ours_keeps_its_value(tmp_path: Path) -> None:
    assert dispatchviz("run", "--plain", "--save", "-c", "x.py", cwd=tmp_path).status == 2
    assert dispatchviz("trace", "-o", "-m.txt", "-c", "print(1)", cwd=tmp_path) == (0, "1\n", "")
    assert (tmp_path / "-m.txt").exists()


def test_two_programs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    said = refused("export", "a.py", "-o", "a.svg", "-c", "print(1)", cwd=tmp_path)
    assert "-c takes the place of SCRIPT: leave SCRIPT out" in said


def test_modules_are_completed(folder: Path) -> None:
    assert completed("run", "-m", "", cwd=folder) == [
        f"plain,{name}" for name in ("alone", "bad", "empty", "package", "raising")
    ]
    assert completed("trace", "-m", "package.d", cwd=folder) == ["plain,package.deep"]
    assert completed("run", "-c", "print(1)", "--s") == ["file,--s"]


def test_stepper_follows_code(folder: Path) -> None:
    """The process that the stepper follows runs the same program."""
    status, screen = in_terminal("run", "--follow", "-c", "import torch\nprint(torch.ones(3).sum())", cwd=folder)
    assert status == 0
    assert screen.rpartition("\x1b[?1049l")[2].replace("\r\n", "\n").strip().endswith("tensor(3.)")
