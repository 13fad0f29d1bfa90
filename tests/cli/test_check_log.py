"""``dispatchviz check-log``: each line of the answer file gets a mark."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatchviz.cli import main
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.running.program import run
from dispatchviz.testing import assert_count, assert_never, call, event
from dispatchviz.testing.expected_log import read_expected
from dispatchviz.testing.marking import marked
from tests.explain.founding import founding
from tests.explain.programs import traced

TRACE = founding()

HOLDS = """\
# Homework 1: a sum and its gradient

call aten::add.Tensor AutogradCUDA
  node Add
  redispatch aten::add.Tensor CUDA
    kernel wrapper_CUDA_add_Tensor under CUDA
  never: error              # what is behind the sign is a comment
  once: node AddBackward0
backward
  run Sum
  run Add
  run AccumulateGrad
anywhere: redispatch ... CUDA
at most 1 times: call aten::add.Tensor
0 times: call aten::mul.Tensor
graph: Sum -> Add -> AccumulateGrad(x)
node order: Sum, Add, AccumulateGrad(x)
hook order:
saved bytes: 0
keys aten::add.Tensor: AutogradCUDA → CUDA
"""


def _marks(text: str, trace: Trace = TRACE) -> dict[int, str]:
    """Return the reason for each line that does not hold, by its number."""
    found = marked(trace, read_expected(text, "expected.txt"), "expected.txt")
    assert [mark.line.number for mark in found] == sorted(mark.line.number for mark in found)
    return {mark.line.number: mark.why for mark in found if not mark.holds}


def test_log_that_fulfills_all_lines_passes() -> None:
    assert _marks(HOLDS) == {}


def test_calls_of_print_do_not_count() -> None:
    trace = traced("import torch\nx = torch.ones(2)\nprint(x)\nprint(x.abs().sum())\n")
    inside = {trace[step].operator for step in range(len(trace)) if isinstance(trace[step], ev.Dispatched)}
    assert {"aten::abs", "aten::ne.Scalar"} <= inside, "printing calls both"
    text = (
        "once: call aten::abs\nnever: call aten::ne.Scalar\nkeys aten::abs: AutogradCPU → CPU\nonce: call aten::sum\n"
    )
    assert _marks(text, trace) == {}
    assert_count(trace, call("aten::abs"), 1)
    assert_never(trace, call("aten::ne.Scalar"))
    with pytest.raises(AssertionError):
        assert_never(trace, call("aten::ne.Scalar"), within=event(ev.TensorFormatted))


@pytest.mark.parametrize(("text", "wrong"), [
    ("redispatch aten::add.Tensor\ncall aten::add.Tensor", {2: "does not happen after step"}),
    ("backward\n  call aten::add.Tensor", {2: "does not happen within step"}),
    (
        "call aten::mul.Tensor\n  node Mul\n  never: error\nbackward",
        {1: "", 2: "line 1 does not", 3: "line 1 does not"},
    ),
    ("never: call aten::add.Tensor", {1: "happens once\n"}),
    ("3 times: run", {}),
    ("2 times: run", {1: "happens 3 times\n"}),
    ("once: call aten::mul.Tensor", {1: "happens never"}),
    ("graph: Sum → Mul → AccumulateGrad(x)", {1: "  got       Sum → Add → AccumulateGrad(x)"}),
    ("saved bytes: 16", {1: "  expected  16\n  got       0"}),
    ("keys aten::mul.Tensor: CUDA", {1: "never happens"}),
])  # fmt: skip
def test_failed_line_shows_similar_events(text: str, wrong: dict[int, str]) -> None:
    found = _marks(text)
    assert found.keys() == wrong.keys()
    assert all(says in found[line] for line, says in wrong.items())


def test_call_that_contains_all_lines_counts() -> None:
    """A teacher describes one call; another call before it is not a mistake."""
    import dispatchviz
    from dispatchviz import torch

    with dispatchviz.record() as trace:
        torch.ones(2) * 2
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.sum().backward()
    assert _marks("call aten::mul.Tensor\n  node Mul\ncall aten::sum\nbackward", trace) == {}
    assert _marks("call aten::mul.Tensor\n  node Mul\ncall aten::mul.Tensor\n  node Mul", trace).keys() == {4}


@pytest.mark.parametrize(("text", "says"), [
    ("call aten::adx.Tensor", "line 1: call aten::adx.Tensor: there is no operator 'aten::adx.Tensor'; did you mean"),
    ("# one\n\ncall aten::add.Tensor CUBA", "line 3: call aten::add.Tensor CUBA: there is no key 'CUBA'"),
    ("run Ad", "line 1: there is no Node 'Ad'; did you mean Add"),
    ("graph: Sum → Ad", "line 1: there is no Node 'Ad'; did you mean Add"),
    ("keys add: CPU", "line 1: there is no operator 'add'; did you mean aten::add.Tensor?"),
    ("garph: Sum", "line 1: there is no 'garph', did you mean graph?"),
    ("sometimes: run", "line 1: there is no 'sometimes', did you mean 3 times?"),
    ("saved bytes: many", "line 1: saved bytes: needs a number, not 'many'"),
    ("call\n  graph: Sum", "line 2: 'graph: Sum' is about the whole log: do not indent it"),
    ("runs Add", "line 1: no line begins with 'runs', did you mean run?"),
    ("# nothing\n", "expects nothing: write a line such as"),
    ("node Add Mul", "line 1: node takes NAME, not 'Add Mul'"),
])  # fmt: skip
def test_unreadable_answer_file_is_refused(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, expected = tmp_path / "log.jsonl", tmp_path / "expected.txt"
    TRACE.save(log)
    expected.write_text(text, "utf-8")
    assert main(["check-log", str(log), "--expect", str(expected)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.fixture
def homework(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[str]]]:
    """Run the command on the founding program's log; return its status and lines."""
    TRACE.save(tmp_path / "add.dvtrace")

    def check(text: str, *more: str) -> tuple[int, list[str]]:
        (tmp_path / "expected.txt").write_text(text, "utf-8")
        status = main(["check-log", str(tmp_path / "add.dvtrace"), *more, "--expect", str(tmp_path / "expected.txt")])
        return status, capsys.readouterr().out.splitlines()

    return check


def test_the_report_has_a_mark_for_each_line(homework: Callable[..., tuple[int, list[str]]]) -> None:
    status, lines = homework(HOLDS)
    assert status == 0
    marks = [line.partition("  #")[0] for line in HOLDS.splitlines() if line and not line.startswith("#")]
    assert re.search(r"add.dvtrace: 18 of 18 lines hold \(.*\)$", lines[0])
    assert [re.sub(r"   step \d+$", "", line)[12:].lstrip(" ") for line in lines[1:]] == [
        line.strip() for line in marks
    ]
    assert all(line.startswith("  ✓ line ") for line in lines[1:])


def test_failed_line_shows_the_command_that_opens_its_step(
    homework: Callable[..., tuple[int, list[str]]],
) -> None:
    status, lines = homework("call aten::add.Tensor\n  redispatch aten::add.Tensor CPU\n")
    assert status == 1
    assert "1 of 2 lines hold" in lines[0]
    assert lines[2] == "  ✗ line 2     redispatch aten::add.Tensor CPU"
    assert re.fullmatch(r" +dispatchviz open --step \d+ \S+add.dvtrace", lines[-1])


def test_summary_has_a_line_for_each_log(homework: Callable[..., tuple[int, list[str]]], tmp_path: Path) -> None:
    TRACE.save(tmp_path / "second.jsonl")
    status, lines = homework("never: run\ncall\n", str(tmp_path / "second.jsonl"), "--summary")
    assert status == 1
    assert [line.partition(":")[2][:20] for line in lines] == [" 1 of 2 lines hold ("] * 2


def test_missing_file_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    TRACE.save(tmp_path / "log.jsonl")
    assert main(["check-log", str(tmp_path / "log.jsonl"), "--expect", "nowhere.txt"]) == 2
    assert capsys.readouterr().err == "dispatchviz: cannot read nowhere.txt: No such file or directory\n"
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert main(["check-log", str(tmp_path / "log.jsonl"), "--expect", str(tmp_path / "bytes")]) == 2
    assert "is not a text file" in capsys.readouterr().err


# -- one table for many logs -------------------------------------------------------------------------------------------

ANSWERS = "call aten::mul.Tensor AutogradCPU\nbackward\n"
PRODUCT = "import torch\nw = torch.ones(2, requires_grad=True)\ny = (w * 2).sum()\n"


@pytest.fixture
def folder_of_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the logs of three learners, one of which is none, and the answers beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "homework").mkdir()
    for name, source in {"ada": f"{PRODUCT}y.backward()\n", "sofia": PRODUCT}.items():
        Path("homework.py").write_text(source)
        run("homework.py").trace.save(f"homework/{name}.dvtrace")
    Path("homework/eve.dvtrace").write_text("junk\n")
    Path("homework/notes.txt").write_text("junk\n")
    Path("answers.txt").write_text(ANSWERS)
    return tmp_path


def test_folder_of_logs_becomes_the_documented_table(folder_of_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-log", "homework", "--expect", "answers.txt", "--csv", "grades.csv"]) == 1
    assert capsys.readouterr().out == "grades.csv written: 1 of 3 logs fulfill all lines\n"
    page = Path(__file__).parents[2] / "docs" / "how-to" / "lesson-homework.md"
    assert f"```text\n{Path('grades.csv').read_text()}```" in page.read_text("utf-8")


def test_table_is_written_again_and_printed(folder_of_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for table in ("grades.csv", "grades.csv", "-"):
        assert main(["check-log", "homework/ada.dvtrace", "--expect", "answers.txt", "--csv", table]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == Path("grades.csv").read_text().splitlines()


def test_table_replaces_no_other_file(folder_of_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-log", "homework", "--expect", "answers.txt", "--csv", "answers.txt"]) == 2
    assert "answers.txt exists and is not a table of check-log" in capsys.readouterr().err
    assert Path("answers.txt").read_text() == ANSWERS


def test_folder_without_logs_is_an_error(folder_of_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["check-log", "empty", "--expect", "answers.txt"]) == 2
    assert (
        "there is no log in empty: a log is a file that ends in .dvtrace, .jsonl, .jsonl.gz" in capsys.readouterr().err
    )


def test_summary_reads_folders_too(folder_of_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("homework/eve.dvtrace").unlink()
    assert main(["check-log", "homework", "--expect", "answers.txt", "--summary"]) == 1
    assert [row.split(" (")[0] for row in capsys.readouterr().out.splitlines()] == [
        "homework/ada.dvtrace: 2 of 2 lines hold",
        "homework/sofia.dvtrace: 1 of 2 lines hold",
    ]


def test_names_are_no_formulas_for_a_spreadsheet(folder_of_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("homework/ada.dvtrace").rename("=ada.dvtrace")
    main(["check-log", "=ada.dvtrace", "--expect", "answers.txt", "--csv", "-"])
    assert capsys.readouterr().out.splitlines()[1].startswith("'=ada.dvtrace,")


# -- the goals of a lesson ---------------------------------------------------------------------------------------------

LESSON = """\
# # What does a product save?
import torch

w = torch.ones(2, requires_grad=True)
y = (w + 2).sum()
y.backward()
# ## Predict
# stop: call add
# ## Make
# goal: happens("call mul")
# goal: w.grad.tolist() == [2, 2]
"""


@pytest.fixture
def programs_and_logs(folder_of_logs: Path) -> Path:
    """The homework of four learners, three of whom handed in a program, beside the lesson."""
    Path("homework/sofia.dvtrace").unlink()
    Path("homework/noor.py").write_text(f"{PRODUCT}y.backward()\n")
    Path("homework/tom.py").write_text(f"{PRODUCT}y.backward(\n")
    Path("homework/product.py").write_text(LESSON)
    Path("homework/kim.py").write_text(f"{PRODUCT}print('no backward')\n")
    return folder_of_logs


GRADES = """\
log,program,reached,goals,error,"goal: happens(""call mul"")","goal: w.grad.tolist() == [2, 2]"
homework/ada.dvtrace,homework.py,1,2,"1 of 2 goals need the variables of the program, and a log has none: grade the \
program (.py)",1,
homework/eve.dvtrace,,,,homework/eve.dvtrace is not a dispatchviz trace: its first line is not a trace header,,
homework/kim.py,homework/kim.py,1,2,,1,0
homework/noor.py,homework/noor.py,2,2,,1,1
homework/tom.py,,,,"homework/tom.py, line 4: '(' was never closed",,
"""


def test_goals_are_columns_of_the_table(programs_and_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-log", "homework", "--goals", "homework/product.py", "--csv", "grades.csv"]) == 1
    assert capsys.readouterr().out == "grades.csv written: 1 of 5 logs fulfill all goals\n"
    assert Path("grades.csv").read_text() == GRADES
    page = Path(__file__).parents[2] / "docs" / "how-to" / "lesson-homework.md"
    assert f"```text\n{GRADES}```" in page.read_text("utf-8")


def test_lines_and_goals_are_graded_together(programs_and_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ["--expect", "answers.txt", "--goals", "homework/product.py"]
    assert main(["check-log", "homework/noor.py", "homework/kim.py", *both, "--csv", "-"]) == 1
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("log,program,held,lines,reached,goals,error,line 1: ")
    assert [row.split(",", 2)[2] for row in rows] == ["2,2,2,2,,1,1,1,1", "1,2,1,2,,1,0,1,0"]


def test_report_has_a_mark_for_each_goal(programs_and_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson = ["--goals", "homework/product.py"]
    assert main(["check-log", "homework/kim.py", *lesson]) == 1
    out = capsys.readouterr().out
    assert out.startswith("homework/kim.py: 1 of 2 goals reached (homework/kim.py)\n  ✓ goal     happens(")
    assert "\n  ✗ goal     w.grad.tolist() == [2, 2]\n" in out
    assert main(["check-log", "homework/ada.dvtrace", *lesson]) == 1
    assert "\n  ? goal     w.grad.tolist() == [2, 2]\n" in capsys.readouterr().out


def test_goals_of_two_phases_are_counted_by_phase(programs_and_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    modify = '# ## Modify\n# goal: not happens("event BackwardStarted")\n# ## Make'
    Path("two.py").write_text(LESSON.replace("# ## Make", modify))
    assert main(["check-log", "homework/noor.py", "homework/kim.py", "--goals", "two.py", "--csv", "-"]) == 0
    head, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert head[2:8] == ["Modify reached", "Modify goals", "Make reached", "Make goals", "error",
                         'Modify goal: not happens("event BackwardStarted")']  # fmt: skip
    assert head[8:] == ['Make goal: happens("call mul")', "Make goal: w.grad.tolist() == [2, 2]"]
    assert [row[2:6] for row in rows] == [["0", "1", "2", "2"], ["1", "1", "1", "2"]]
    assert main(["check-log", "homework/kim.py", "--goals", "two.py"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("homework/kim.py: Modify: 1 of 1 goals reached, Make: 1 of 2 goals reached (")
    assert "\n  ✓ Modify   not happens" in out
    assert "\n  ✗ Make     w.grad" in out


def test_exception_of_a_program_is_in_the_table_and_in_the_report(
    programs_and_logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ida.py").write_text(f"{PRODUCT}y.backward()\ny.backward()\n")
    Path("homework.py").write_text(f"{PRODUCT}y.backward()\nraise ValueError\n")
    run("homework.py").trace.save("uma.dvtrace")
    lesson = ["ida.py", "uma.dvtrace", "--goals", "homework/product.py"]
    assert main(["check-log", *lesson, "--csv", "-"]) == 1
    ida, uma = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert ida["reached"] == "2"
    assert re.fullmatch("RuntimeError: Trying to backward through the graph a second time.*", ida["error"])
    assert uma["error"].startswith("ValueError; 1 of 2 goals need the variables")
    assert main(["check-log", *lesson]) == 1
    assert f"\n  {ida['error']}\numa.dvtrace: " in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "said"), [
    ([], "check-log needs an answer file, --expect FILE, or a lesson, --goals LESSON"),
    (["--goals", "engine"], "the lesson engine has no goals"),
    (["--goals", "nothing"], "there is no lesson 'nothing'"),
    (["--goals", "bad.py"], "bad.py, line 12: 'w.grad is' is not an expression of Python"),
])  # fmt: skip
def test_missing_goals_are_one_clear_error(
    arguments: list[str], said: str, programs_and_logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.py").write_text(f"{LESSON}# goal: w.grad is\n")
    assert main(["check-log", "homework", *arguments, "--csv", "grades.csv"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("grades.csv").exists()


def test_program_is_no_log_without_goals(programs_and_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-log", "homework/noor.py", "--expect", "answers.txt"]) == 2
    assert "homework/noor.py is not a dispatchviz trace" in capsys.readouterr().err
