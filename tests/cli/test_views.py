"""``--step N --view NAME`` prints a pane of the stepper; ``--plain`` with a step prints all panes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record.events import KernelEntered, KernelSelected
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.explain.calls.whole_stack import whole_stack
from dispatchviz.explain.kinds.all_kinds import rule, why_here
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.things.tensor_questions import questions, title
from dispatchviz.outputs.step.step_text import (
    BECAUSE,
    LOG,
    REGISTRATION,
    STACK,
    THEN_AND_NOW,
    THINGS,
    WHY,
    print_step,
    print_view,
    view_names,
)
from dispatchviz.views.panes.pane_list import PANES, rows_of
from tests.tui.programs import example

from .command import FORUM, STEP_INSTEAD, dispatchviz, refused, script
from .test_completion import completed

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trace() -> Trace:
    """The trace of the founding program."""
    return example("forum.py")


@pytest.fixture(scope="module")
def file(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace in a file."""
    path = tmp_path_factory.mktemp("views") / "forum.dvtrace"
    trace.save(path)
    return path


def cell(trace: Trace) -> int:
    """The step at which ``add`` finds its cell for AutogradCUDA."""
    events = (trace[step] for step in trace.steps_of(KernelSelected))
    return next(event.seq for event in events if "add_Tensor" in getattr(event, "kernel", ""))


def viewed(trace: Trace, step: int, name: str, capsys: Captured) -> str:
    print_view(trace, step, name)
    return capsys.readouterr().out


def test_every_pane_is_a_view() -> None:
    assert view_names()[:6] == (WHY, "key-set", "cell", "calls", "source", "graph")
    assert len(view_names()) == len(set(view_names())) == len(PANES) + 7
    assert view_names()[-6:] == (STACK, THINGS, REGISTRATION, THEN_AND_NOW, BECAUSE, LOG)


@pytest.mark.parametrize("width", [40, 100, 200])
def test_view_has_the_text_of_its_pane(
    trace: Trace, width: int, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    at = cell(trace)
    for name, (_, module) in zip(view_names()[1:-6], PANES.values(), strict=True):
        text = viewed(trace, at, name, capsys)
        words = " ".join(row.plain for row in rows_of(module)(trace, at, width) if not row.cut).split()
        assert text
        assert width < 100 or set(words) <= set(text.split()), name
        assert max(map(len, text.splitlines())) <= width
        assert not any(line != line.rstrip() for line in text.splitlines())


def test_why_is_the_sentence_and_the_rule(trace: Trace, capsys: Captured) -> None:
    at = cell(trace)
    words = " ".join(viewed(trace, at, WHY, capsys).split())
    behind = rule(trace[at])
    assert words.startswith(" ".join(why_here(trace, at).split()))
    assert all(part in words for part in (behind.function, behind.file, behind.text))


def test_view_shows_the_key_set_of_a_call(trace: Trace, capsys: Captured) -> None:
    text = viewed(trace, cell(trace), "key-set", capsys)
    assert text.startswith("AutogradCUDA wins  call of aten::add.Tensor(self = x, other = y)\n")
    assert "= left      {AutogradCUDA, CUDA} → AutogradCUDA\n" in text
    assert "AutogradCUDA     ■     ■       ·     ·     ■     ■  ◀ wins\n" in text


def test_the_whole_call_chain_of_a_step(trace: Trace, capsys: Captured) -> None:
    at = trace.steps_of(KernelEntered)[0]
    frames = whole_stack(trace, at)
    told = viewed(trace, at, STACK, capsys)
    assert all(frame.note.split()[0] in told for frame in frames if frame.note)
    rows = [row for row in told.splitlines() if row.startswith("▶ ") or row[2:3].strip()]
    assert len(rows) == len(frames) > len(call_stack(trace, at))
    for row, frame in zip(rows, frames, strict=True):
        assert row[2:].startswith(frame.role)
        assert frame.title[:40] in row
    assert rows[-1].startswith("▶ ")


def test_the_questions_of_the_things_of_a_step(trace: Trace, capsys: Captured) -> None:
    at = cell(trace)
    text = viewed(trace, at, THINGS, capsys)
    things = things_of(trace, at)
    assert things
    told = text.splitlines()
    for thing in things:
        assert [each for each in told if each.startswith(title(trace, thing, at))]
        for question in questions(trace, thing, at):
            assert f"  {question.asked}" in text
            assert all(answer.text in text for answer in question.answers)
            assert question.answers or question.none in text
    assert "looking through the calls" not in text


def test_a_step_without_a_thing_says_so(trace: Trace, capsys: Captured) -> None:
    assert viewed(trace, 0, THINGS, capsys) == "Step 0 is about no tensor and no Node.\n"


def test_the_whole_step_has_every_view(trace: Trace, capsys: Captured) -> None:
    at = cell(trace)
    print_step(trace, at)
    text = capsys.readouterr().out
    assert text.startswith(f"step {at} of {len(trace)} in ")
    titles = ["Why", *(title for title, _ in PANES.values())]
    assert [line for line in text.splitlines() if line in titles] == titles
    for name in view_names()[1:-6]:
        first = viewed(trace, at, name, capsys).splitlines()[0]
        assert f"  {first}\n" in text


def test_every_step_has_every_view(trace: Trace, capsys: Captured) -> None:
    for at in range(0, len(trace), 7):
        print_step(trace, at)
        assert capsys.readouterr().out.count("\n\n") >= len(PANES) + 1


def test_colors_are_only_where_they_are_forced(trace: Trace, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = viewed(trace, cell(trace), "key-set", capsys)
    monkeypatch.setenv("FORCE_COLOR", "1")
    colored = viewed(trace, cell(trace), "key-set", capsys)
    assert "\x1b[32;1mAutogradCUDA" in colored
    assert "\x1b" not in plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert viewed(trace, cell(trace), "key-set", capsys) == plain


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_open_and_run_print_a_view(file: Path) -> None:
    at = str(cell(Trace.load(file)))
    opened = dispatchviz("open", file, "--step", at, "--view", "cell")
    assert opened.out.startswith("key     AutogradCUDA  entry 97 of 137 in the table of aten::add.Tensor\n")
    assert (opened.status, opened.err) == (0, "")
    assert dispatchviz("run", "--no-values", "--step", at, "--view", "cell", "examples/forum.py") == opened
    assert dispatchviz("run", "--step", at, "--view", "cell", file) == opened


@pytest.mark.long
def test_program_output_is_not_in_the_view(tmp_path: Path) -> None:
    name = script(tmp_path, "import torch\nprint('mine')\nraise SystemExit(4)\n")
    ended = dispatchviz("run", "--step", "1", "--view", "source", name, cwd=tmp_path)
    assert (ended.status, ended.err) == (4, "mine\n")
    assert "▶ 2 print('mine')" in ended.out


@pytest.mark.long
def test_step_is_printed_if_there_is_no_terminal(file: Path) -> None:
    plain = dispatchviz("open", "--step", "150", "--plain", file)
    assert dispatchviz("open", "--step", "150", file) == plain._replace(err=STEP_INSTEAD)
    assert dispatchviz("run", "--no-values", "--step", "150", "--plain", FORUM).out == plain.out


@pytest.mark.long
def test_view_defaults_to_the_first_step_of_the_stepper(tmp_path: Path) -> None:
    name = script(tmp_path, "import torch\nx = torch.zeros(2, requires_grad=True)\nx.add_(1)\n")
    ended = dispatchviz("run", "--view", "why", name, cwd=tmp_path)
    assert ended.status == 1
    assert "a leaf Variable that requires grad is being used in an in-place operation." in " ".join(ended.out.split())


@pytest.mark.long
@pytest.mark.parametrize(("typed", "says"), [
    (("--view", "keyset"), "there is no view 'keyset', did you mean key-set? The views are why, key-set, cell,"),
    (("--view", "x"), "there is no view 'x'. The views are why, key-set, cell, calls, source, graph,"),
    (("--view", "cell", "--step", "999999"), "there is no step 999999: "),
    (("--view", "cell", "--level", "calls"), "--level with --view would do nothing"),
])  # fmt: skip
def test_usage_errors_are_one_line(typed: tuple[str, ...], says: str, file: Path) -> None:
    for command in ("open", "run"):
        assert refused(command, *typed, file).startswith(f"dispatchviz: {says}")


@pytest.mark.long
def test_trace_prints_the_call_chain_of_a_step(file: Path) -> None:
    trace = Trace.load(file)
    at = next(
        step for step in trace.steps_of(KernelEntered) if "VariableType::add" in getattr(trace[step], "kernel", "")
    )
    viewed = dispatchviz("open", "--step", str(at), "--view", "stack", file)
    told = dispatchviz("trace", "--stack", str(at), file)
    assert (told.status, told.err, told.out) == (0, "", viewed.out)
    fold = dispatchviz("trace", "--stack", str(at), "--fold", file)
    assert " frames, TypedOperatorHandle::call to " in fold.out
    assert fold.out.splitlines()[-1] == told.out.splitlines()[-1]


@pytest.mark.long
@pytest.mark.parametrize(("typed", "says"), [
    (("--stack", "999999"), "there is no step 999999: "),
    (("--stack", "3", "--level", "calls"), "--level with --stack would do nothing"),
    (("--stack", "3", "-o", "x.log"), "-o with --stack would do nothing"),
    (("--fold",), "--fold is for --stack STEP"),
])  # fmt: skip
def test_usage_errors_with_stack_are_one_line(typed: tuple[str, ...], says: str, file: Path) -> None:
    assert refused("trace", *typed, file).startswith(f"dispatchviz: {says}")


@pytest.mark.long
def test_usage_error_is_reported_before_the_program_runs(tmp_path: Path) -> None:
    name = script(tmp_path, "open('ran', 'w')\n")
    assert dispatchviz("run", "--view", "nothing", name, cwd=tmp_path).status == 2
    assert not (tmp_path / "ran").exists()


@pytest.mark.long
def test_views_are_completed() -> None:
    assert completed("open", "--view", "c") == ["plain,cell", "plain,calls", "plain,compiler"]
    assert completed("run", "--view", "key") == ["plain,key-set"]
