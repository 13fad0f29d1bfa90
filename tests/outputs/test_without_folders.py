"""Shared parts of a trace reveal nothing of its user's folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import writers
from dispatchviz.outputs.cell.trace_card import trace_html, trace_markdown
from dispatchviz.outputs.chosen_steps import Steps
from dispatchviz.outputs.format import Request
from dispatchviz.outputs.formats import export, format_of
from dispatchviz.outputs.page.in_notebook import notebook_player
from dispatchviz.outputs.table.format import export_table
from dispatchviz.outputs.table.parquet import Run
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from tests.outputs.page.decoded import packed

PROGRAM = """\
import torch, warnings
warnings.simplefilter("always")
from lib.deep import f
from other import g
x = torch.ones(2, requires_grad=True)
y = g(f(x))
warnings.warn("look")
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, a):
        return a
Own.apply(y).sum().backward()
"""

SECRET = "ada_lovelace"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Return the trace of a program in a folder, with a module beside it and another one in a subfolder."""
    home = tmp_path_factory.mktemp("home") / SECRET / "thesis"
    (home / "lib").mkdir(parents=True)
    (home / "lib" / "deep.py").write_text("def f(x):\n    return x * 2\n")
    (home / "other.py").write_text("def g(x):\n    return x + 1\n")
    (home / "prog.py").write_text(PROGRAM)
    return run(str(home / "prog.py")).trace


def test_files_are_named_from_the_programs_folder(trace: Trace) -> None:
    shared = without_folders(trace)
    assert shared.header.program == "prog.py"
    assert set(shared.header.sources) == {"prog.py", "lib/deep.py", "other.py"}
    assert len(shared) == len(trace)
    for event, own in zip(shared, trace, strict=True):
        assert SECRET not in str(event)
        assert type(event) is type(own)
        assert event == shared[event.seq]
    assert {event.file for event in shared if isinstance(event, ev.SourceLine)} == set(shared.header.sources)
    assert not any(SECRET in place.file for place in shared.columns.line_places)
    assert without_folders(shared) is shared
    assert SECRET in trace.header.program, "the trace itself can run its program again"


@pytest.mark.parametrize("form", [".html", ".svg", ".dot", ".json", ".txt", ".md", ".parquet"])
def test_no_file_that_is_passed_on_has_a_folder(form: str, trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / f"out{form}"
    if form in (".txt", ".md"):
        format_of(form).write(trace, Request(str(path), form, steps=Steps()))
    elif form == ".parquet":
        pytest.importorskip("pyarrow")
        export_table([Run("prog", trace, "prog.py")], path)
    else:
        export(trace, path)
    data = path.read_bytes()
    text = str(packed(data)) if form == ".html" else data.decode("utf-8", "replace")
    if form == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        text = f"{table.to_pydict()} {table.schema.metadata}"
    assert "prog.py" in text or form == ".html"
    assert SECRET not in text
    assert SECRET.encode() not in data


def test_no_notebook_has_a_folder(trace: Trace) -> None:
    shown = (
        trace_html(trace), trace_markdown(trace), notebook_player(trace), repr(trace), trace.backward_graph().svg(),
    )  # fmt: skip
    for text in shown:
        assert "prog.py" in text
        assert SECRET not in text


def test_traces_keep_the_paths_and_so_do_tracebacks(tmp_path: Path) -> None:
    file = tmp_path / "raises.py"
    file.write_text("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    trace = run(str(file)).trace
    export(trace, tmp_path / "kept.jsonl")
    assert Trace.load(tmp_path / "kept.jsonl").header.program == str(file)
    last = without_folders(trace)[-1]
    assert isinstance(last, ev.ProgramRaised)
    assert (last.file, str(file) in last.traceback) == ("raises.py", True)


@pytest.mark.parametrize(("program", "new"), [
    ("examples/forum.py", "examples/forum.py"),
    ("<string>", "<string>"),
    ("<cell 3>", "<cell 3>"),
    ("plain.py", "plain.py"),
    ("../x/plain.py", "plain.py"),
    ("/home/ada/tests/test_a.py::test_b", "test_a.py::test_b"),
])  # fmt: skip
def test_names_without_folders_are_kept(program: str, new: str) -> None:
    from dispatchviz.outputs.without_folders import new_name

    assert new_name(program) == new


def test_files_of_one_name_keep_distinguishing_folders() -> None:
    from dispatchviz.outputs.without_folders import _names

    files = ("/home/ada/run.py", "/opt/a/utils.py", "/opt/b/utils.py", "/home/ada/utils.py")
    names = _names(files[0], dict.fromkeys(files, ""))
    assert len(set(names.values())) == 4
    assert names["/home/ada/utils.py"] == "utils.py"
    assert names["/opt/a/utils.py"] == "a/utils.py"
    assert os.path.basename(names["/opt/b/utils.py"]) == "utils.py"


def test_a_long_trace_in_a_file_is_passed_on_without_folders(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "EVENTS_PER_PART", 50)
    Trace(trace.header, trace.events[:300]).save(tmp_path / "t.dvtrace")
    shared = without_folders(Trace.load(tmp_path / "t.dvtrace"))
    assert {place.file for place in shared.columns.line_places} == {"prog.py", "lib/deep.py", "other.py"}
    assert list(shared) == list(without_folders(trace))[:300]
