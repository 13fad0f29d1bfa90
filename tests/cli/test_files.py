"""No file is lost: the target is checked before the program starts, and a file is replaced only by its own kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dispatchviz.cli import main
from dispatchviz.core.record.events import Printed, SourceLine
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.formats import export
from dispatchviz.outputs.hand_out.format import HAND_OUT_MARK
from dispatchviz.outputs.picture.format import PICTURES
from tests.steps import last_step, steps

from .command import FORUM, dispatchviz, refused, script

pytestmark = pytest.mark.long

OTHERS = {
    "weights.pt": b"PK\x03\x04 weights",
    "train.py": b"import torch\n",
    "photo.png": b"\x89PNG",
    "data.jsonl": b'{"text": "not a trace"}\n',
    "data.jsonl.gz": b"\x1f\x8b no trace",
    "notes": b"mine\n",
}
"""Files that must not be overwritten."""


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("command", [["run", "--save"], ["trace", "--save"], ["trace", "--format", "jsonl", "-o"]])
def test_trace_never_overwrites_another_file(command: list[str], name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(OTHERS[name])
    started = script(tmp_path, "open('started', 'w')\n")
    assert name in refused(*command, name, started, cwd=tmp_path)
    assert (tmp_path / name).read_bytes() == OTHERS[name]
    assert sorted(os.listdir(tmp_path)) == sorted([name, started])


def test_refused_overwrite_names_the_reason(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text("mine")
    (tmp_path / "folder.jsonl").mkdir()
    for name, says in {
        "weights.pt": "cannot save the trace as weights.pt: the name of a trace ends in .dvtrace, .jsonl or .jsonl.gz",
        "data.jsonl": "data.jsonl exists and is not a trace: it is not overwritten, choose another name",
        "folder.jsonl": "cannot write folder.jsonl: Is a directory",
    }.items():
        assert refused("trace", "--save", name, FORUM, cwd=tmp_path) == f"dispatchviz: {says}\n"


def test_trace_overwrites_a_trace_or_an_empty_file(tmp_path: Path) -> None:
    name = script(tmp_path, "x = 1\n")
    for file in ("t.jsonl", "t.jsonl.gz"):
        (tmp_path / file).touch()
        for _ in range(2):
            assert dispatchviz("trace", "--save", file, name, cwd=tmp_path).status == 0
            assert len(steps(Trace.load(tmp_path / file), SourceLine)) == 1


def test_log_overwrites_only_a_log(tmp_path: Path) -> None:
    name = script(tmp_path, "import torch\ntorch.ones(2)\n")
    for form in ("text", "torch"):
        for _ in range(2):
            assert dispatchviz("trace", "--format", form, "-o", "log.txt", name, cwd=tmp_path) == (0, "", "")
    for file in (name, "weights.pt"):
        (tmp_path / "weights.pt").write_bytes(OTHERS["weights.pt"])
        assert f"{file} exists and is not a log" in refused("trace", "-o", file, name, cwd=tmp_path)
    assert "--format jsonl" in refused("trace", "-o", "t.jsonl", name, cwd=tmp_path)


def test_export_checks_the_picture_file_before_running(tmp_path: Path) -> None:
    started = script(tmp_path, "open('started', 'w')\n")
    (tmp_path / "data.jsonl").write_text("mine")
    for file in ("no/a.svg", "data.jsonl"):
        assert file in refused("export", started, "-o", file, cwd=tmp_path)
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("form", PICTURES)
def test_picture_overwrites_only_a_picture_of_its_format(form: str, tmp_path: Path) -> None:
    started = script(tmp_path, "open('started', 'w')\n")
    (tmp_path / f"notes{form}").write_text("my notes on <svg> and digraphs\n")
    says = f"notes{form} exists and is not a {form} picture: it is not overwritten, choose another name"
    assert says in refused("export", started, "-o", f"notes{form}", cwd=tmp_path)
    assert refused("codegen", "add", "--structured", "-o", f"notes{form}", cwd=tmp_path) == f"dispatchviz: {says}\n"
    assert (tmp_path / f"notes{form}").read_text() == "my notes on <svg> and digraphs\n"
    assert started in refused("export", started, "-o", started, "--format", form[1:], cwd=tmp_path)
    assert sorted(os.listdir(tmp_path)) == [f"notes{form}", started]
    if form == ".pdf":
        return  # needs a Graphviz
    for command in (["codegen", "add", "--structured"], ["export", FORUM]):
        for _ in range(2):
            assert main([*command, "-o", f"{tmp_path}/a{form}"]) == 0


LESSON = """\
# # A lesson
import torch
open("started", "w")
torch.ones(2)
# stop: call ones
"""


def test_hand_out_overwrites_only_a_hand_out(tmp_path: Path) -> None:
    source = script(tmp_path, LESSON)
    (tmp_path / "notes.md").write_text("# mine\n")
    (tmp_path / "folder.md").mkdir()
    for name, says in {
        source: f"cannot write {source}. Hand-outs: .md. Interactive pages: .html",
        "notes.md": (
            "notes.md exists and is not a hand-out from dispatchviz: it is not overwritten, choose another name"
        ),
        "folder.md": "cannot write folder.md: Is a directory",
        "no/a.md": "cannot write no/a.md: No such file or directory",
    }.items():
        assert refused("lesson", f"./{source}", "-o", name, cwd=tmp_path) == f"dispatchviz: {says}\n"
    assert (tmp_path / source).read_text() == LESSON
    assert (tmp_path / "notes.md").read_text() == "# mine\n"
    assert sorted(os.listdir(tmp_path)) == ["folder.md", "notes.md", source]
    texts = []
    for _ in range(2):
        ended = dispatchviz("lesson", f"./{source}", "-o", "a.md", cwd=tmp_path)
        assert ended == (0, "a.md written\n", "")
        texts.append((tmp_path / "a.md").read_text())
    assert texts[0] == texts[1]
    printed = dispatchviz("lesson", f"./{source}", "-o", "-", cwd=tmp_path).out
    assert texts[0] == f"{HAND_OUT_MARK}\n\n{printed}"
    (tmp_path / "a.md").write_text(printed)
    assert dispatchviz("lesson", f"./{source}", "-o", "a.md", cwd=tmp_path).status == 2, "without the mark it stays"


@pytest.mark.parametrize("option", ["--plain", "--present", "--answers=a.json"])
def test_hand_out_refuses_other_options(option: str, tmp_path: Path) -> None:
    said = f"{option.partition('=')[0]} with -o would do nothing: leave one of them out"
    assert refused("lesson", "forum", option, "-o", "a.md", cwd=tmp_path) == f"dispatchviz: {said}\n"
    assert os.listdir(tmp_path) == []


def test_new_lesson_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("mine\n")
    (tmp_path / "folder.py").mkdir()
    for name, says in {
        "mine.py": "mine.py already exists; nothing was written",
        "folder.py": "folder.py already exists; nothing was written",
        "no/a.py": "cannot write no/a.py: No such file or directory",
        "forum": "the name of a lesson must end in .py: dispatchviz lesson new forum.py",
    }.items():
        assert refused("lesson", "new", name, cwd=tmp_path) == f"dispatchviz: {says}\n"
    assert (tmp_path / "mine.py").read_text() == "mine\n"
    assert sorted(os.listdir(tmp_path)) == ["folder.py", "mine.py"]


def test_answers_overwrite_no_folder_and_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    (tmp_path / "b.json").write_text("{}")
    for name, says in {
        "a.json": "cannot read a.json: Is a directory",
        "b.json": "b.json is not a file of answers",
    }.items():
        assert says in refused("lesson", "forum", "--answers", name, cwd=tmp_path)
    assert (tmp_path / "b.json").read_text() == "{}"


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    dispatchviz("export", FORUM, "-o", "a.jsonl", cwd=tmp_path)
    trace = Trace.load(tmp_path / "a.jsonl")
    for name in ("a.svg", "a.dot", "a.jsonl"):
        export(trace, tmp_path / name)
        before = (tmp_path / name).read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail)
            with pytest.raises(DispatchvizError, match=rf"cannot write .*{name}: No space left"):
                export(trace, tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.dot", "a.jsonl", "a.svg"]


def test_a_trace_that_cannot_be_shown_is_not_lost(tmp_path: Path) -> None:
    """The missing step is known only after the program has run."""
    ended = dispatchviz("run", "--step", "999", script(tmp_path, "x = 1\n"), cwd=tmp_path)
    said, _, file = ended.err.removesuffix(")\n").partition(" (the trace is kept: dispatchviz open ")
    trace = Trace.load(file)
    assert len(steps(trace, SourceLine)) == 1
    assert ended.status == 2
    assert said == f"dispatchviz: there is no step 999: program.py has the steps 0 to {last_step(trace)}"


LOOP = """
import torch
x = z = torch.ones(2, requires_grad=True)
for _ in range(200):
    z = z.sin() + x
z.sum().backward()
"""


def test_big_graph_is_folded_with_a_note(tmp_path: Path) -> None:
    dispatchviz("export", script(tmp_path, LOOP), "-o", "t.jsonl", cwd=tmp_path)
    ended = dispatchviz("export", "t.jsonl", "-o", "a.svg", cwd=tmp_path)
    assert (ended.status, ended.out) == (0, "")
    assert ended.err.startswith("402 Nodes are folded into 4 boxes: 200 times 2 Nodes; --expand RANGE")
    asked = dispatchviz("export", "t.jsonl", "-o", "b.svg", "--expand", "10-13", cwd=tmp_path)
    assert asked.err.startswith("402 Nodes are folded into")
    assert (tmp_path / "a.svg").read_text().count(">SinBackward0<") == 1
    assert (tmp_path / "b.svg").read_text().count(">SinBackward0<") == 2 + 2
    assert dispatchviz("export", "t.jsonl", "-o", "c.dot", cwd=tmp_path) == (0, "", "")
    assert "no Node of this graph" in refused("export", "t.jsonl", "-o", "d.svg", "--expand", "w", cwd=tmp_path)


def test_several_traces_become_one_table(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    for rank in range(2):
        header = Header(cuda="", program="p.py", rank=rank)
        Trace(header, [Printed(0, None, f"{rank}\n")]).save(tmp_path / f"rank{rank}.jsonl")
    both = ("rank0.jsonl", "rank1.jsonl")
    assert dispatchviz("export", *both, "-o", "named.parquet", cwd=tmp_path) == (0, "", "")
    assert dispatchviz("export", *both, "-o", "run.parquet", "--run", "seven", cwd=tmp_path) == (0, "", "")
    rows = [
        pq.read_table(tmp_path / name, columns=["run", "rank"]).to_pylist() for name in ("named.parquet", "run.parquet")
    ]
    assert rows == [
        [{"run": "rank0", "rank": 0}, {"run": "rank1", "rank": 1}],
        [{"run": "seven", "rank": 0}, {"run": "seven", "rank": 1}],
    ]
    for others, complaint in {
        ("-o", "a.svg"): "rank1.jsonl is one argument too many",
        ("-o", "a.parquet", "--", "--lr"): "rank0.jsonl is a saved trace and takes no arguments (--lr)",
    }.items():
        ended = dispatchviz("export", *both, *others, cwd=tmp_path)
        assert ended.status == 2
        assert complaint in ended.err
    ended = dispatchviz("export", "rank0.jsonl", "-o", "a.jsonl", "--run", "seven", cwd=tmp_path)
    assert (ended.status, ended.err) == (
        2,
        "dispatchviz: --run with a .jsonl file would do nothing: leave one of them out\n",
    )
