"""A lesson as a file: its prose, its program, the steps of its stops, and refused files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.lessons.lesson_file import parse_draft, parse_lesson, read_lesson
from dispatchviz.lessons.problem import LessonError
from dispatchviz.lessons.stop_steps import UnknownStopError, UnseenStopError
from dispatchviz.lessons.stops import FORMS, step_named, steps_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from tests.explain.programs import traced

HERE = Path("here.py")

SOURCE = """\
# # A title
#
# What it is about,
# in one paragraph.
#
#     code = 1

import torch  # for tensors

x = torch.ones(2)  # two of them
# ## Predict
# predict: call add
# What is read after the answer.
# ## Make
# raises: ValueError

def check(trace):
    # no prose
    assert trace

raise ValueError
"""


def test_prose_and_program() -> None:
    lesson = parse_lesson(SOURCE, HERE)
    assert (lesson.name, lesson.title, lesson.raises) == ("here", "A title", "ValueError")
    assert lesson.summary == "What it is about, in one paragraph."
    first, asked = lesson.passages
    assert first.text == "What it is about,\nin one paragraph.\n\n    code = 1"
    assert (asked.phase, asked.stop, asked.asks, asked.line) == ("Predict", "call add", True, 12)
    assert asked.text == "What is read after the answer."
    assert lesson.stops == (asked,)


def test_assertions_are_no_part_of_the_program_and_lines_keep_their_numbers() -> None:
    lesson = parse_lesson(SOURCE, HERE)
    lines = SOURCE.split("\n")
    program, assertions = lesson.program.split("\n"), lesson.assertions.split("\n")
    assert program[lines.index("raise ValueError")] == "raise ValueError"
    assert "check" not in lesson.program
    assert assertions[lines.index("def check(trace):")] == "def check(trace):"
    assert "raise" not in lesson.assertions


def test_parts_of_the_facts_are_cut_out_with_them_and_no_other_function_is() -> None:
    program = "# # A title\ndef factor():\n    return 2\n\n\n"
    source = f"{program}def facts():\n    facts_of_a()\n\n\ndef facts_of_a():\n    assert 1\n"
    lesson = parse_lesson(source + "def checks():\n    pass\n", HERE)
    assert lesson.program.split("\n")[:3] == ["", *source.split("\n")[1:3]]
    assert "fact_" not in lesson.program
    assert "facts" not in lesson.program
    assert "def checks" in lesson.program
    assert lesson.assertions.split("\n")[5:11] == source.split("\n")[5:11]
    assert "factor" not in lesson.assertions


def test_program_contains_no_prose() -> None:
    lesson = parse_lesson(SOURCE, HERE)
    assert "What is read after the answer." in SOURCE
    lines = lesson.program.split("\n")
    assert [line for line in lines if line.startswith("#")] == []
    assert lines[7:10] == ["import torch", "", "x = torch.ones(2)"]


def test_comments_beside_code_are_no_part_of_the_program() -> None:
    source = '#!/usr/bin/env python\n# # A title\ndef f():\n    # it raises\n    return "# no comment"  # never\n'
    assert parse_lesson(source, HERE).program == '#!/usr/bin/env python\n\ndef f():\n\n    return "# no comment"\n'


def test_line_of_a_string_is_not_a_comment() -> None:
    source = '# # A title\ntext = """\n# stop: call add\n# predcit: call add\n"""\n'
    lesson = parse_lesson(source, HERE)
    assert lesson.stops == ()
    assert lesson.misspelled == ()
    assert lesson.program == source.replace("# # A title", "")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("predcit: call add", ["predict"]),
        ("Predict: call add", ["predict"]),
        ("stop : call add", ["stop"]),
        ("stops: call add", ["stop"]),
        ("raise: ValueError", ["raises"]),
        ("predict:", ["predict"]),
        ("predict: call add", []),
        ("Three things decide: the map, the numbers, each Node.", []),
        ("question: what comes next?", ["ask"]),
        ("reason: a leaf", ["because"]),
        ("choices: one, two", ["ask"]),
        ("raising: ValueError", ["raises"]),
        ("Note: what comes next", []),
        ("Task: what comes next", []),
        ("A sentence that goes on in the next line, for exactly this\n# case: a leaf.", []),
    ],
)
def test_misspelled_directive_is_found(line: str, meant: list[str]) -> None:
    lesson = parse_lesson(f"# # A title\n# {line}\n", HERE)
    assert lesson.misspelled == tuple((2, line.split(":")[0].strip(), each) for each in meant)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import torch\n", "here.py, line 1: a lesson must have a title"),
        ("# # A title\n# ## Guess\n", "here.py, line 2: there is no phase 'Guess'; the phases are Predict, Run, Inv"),
        ("# # A title\n# ## Run\n# ## Predict\n", "here.py, line 3: Predict cannot come after Run; the order is Pre"),
        ("# # A title\n# ## Run\n# ## Run\n", "here.py, line 3: Run cannot come after Run"),
        ("# # A title\nx = (\n", "here.py, line 2: '(' was never closed"),
    ],
)
def test_file_that_is_not_a_lesson_is_refused(source: str, said: str) -> None:
    with pytest.raises(LessonError) as raised:
        parse_lesson(source, HERE)
    assert str(raised.value).startswith(said)


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match="cannot read the lesson"):
        read_lesson(tmp_path / "none.py")


PROGRAM = """
import torch
x = torch.ones(2, requires_grad=True)
w = torch.ones(2, requires_grad=True)
y = x * w
y = y * x
z = torch.ops.aten.add(y, w)
z.sum().backward()
x.data.add_(1)
try:
    torch.mm(x, w)
except RuntimeError:
    pass
"""


@cache
def trace() -> Trace:
    return traced(PROGRAM)


STOPS = {
    "`y = y * x`": "line 6  y = y * x",
    "z's Node": "Node AddBackward0, seq 2",
    "y's Node": "Node MulBackward0, seq 0",
    "last y's Node": "Node MulBackward0, seq 1",
    "w's AccumulateGrad": "AccumulateGrad (w) belongs to w",
    "w.grad": "w.grad (",
    "call mul": "call aten::mul.Tensor → AutogradCPU",
    "call mul in `y = y`": "call aten::mul.Tensor → AutogradCPU",
    "call add at AutogradCPU": "callBoxed aten::add.Tensor → AutogradCPU",
    "call add.Tensor": "callBoxed aten::add.Tensor → AutogradCPU",
    "call torch.mul": "call aten::mul.Tensor → AutogradCPU",
    "redispatch aten::add to CPU": "redispatch aten::add.Tensor → CPU",
    "key set of mul": "key set 0x1000010001",
    "skipped keys of mul": "skipped ADInplaceOrView, BackendSelect",
    "cell of mul at CPU": "cell 1 CPU: wrapper_CPU_mul_Tensor",
    "kernel VariableType::mul_Tensor": "kernel VariableType::mul_Tensor",
    "guard AutoDispatchBelowADInplaceOrView in `y = x`": "guard AutoDispatchBelowADInplaceOrView",
    "Node SumBackward0": "Node SumBackward0, seq 3",
    "second run MulBackward0": "run MulBackward0 (n0), seq 0",
    "error": "RuntimeError",
    "event VersionBumped in `x.data`": "version of",
}


@pytest.mark.parametrize(("name", "row"), STOPS.items())
def test_a_name_finds_its_step(name: str, row: str) -> None:
    assert row in label(trace(), step_named(trace(), name))


MORE = """
import torch
x = torch.ones(2, requires_grad=True)
h = x * 2
h.retain_grad()
h.sum().backward()
x.grad = None
print("all done")
try:
    x.detach().numpy()
    torch.mm(x, x)
except RuntimeError:
    pass
"""

MORE_STOPS = {
    "x.grad = None": "x.grad = None",
    "h.grad": "h.grad = t",
    'printed "done"': "printed all done",
    "printed in `print`": "printed all done",
    "error RuntimeError": "RuntimeError",
    'error "must be a matrix"': "RuntimeError",
}


@cache
def more() -> Trace:
    return traced(MORE)


@pytest.mark.parametrize(("name", "row"), MORE_STOPS.items())
def test_gradients_prints_and_errors_are_found(name: str, row: str) -> None:
    assert row in label(more(), step_named(more(), name))


def test_all_steps_of_a_name_are_counted() -> None:
    assert [len(steps_named(more(), name)) for name in ("call mul", "x.grad", "printed", "call relu")] == [2, 1, 1, 0]


def test_every_form_is_tried_here() -> None:
    for form in FORMS:
        assert any(form.pattern.fullmatch(name.partition(" in `")[0].removeprefix("last ").removeprefix("second "))
                   for name in {**STOPS, **MORE_STOPS}), form.written  # fmt: skip


def test_ordinals_choose_different_steps() -> None:
    first, second, last = (step_named(trace(), f"{which}call mul") for which in ("", "second ", "last "))
    assert first < second < last
    assert step_named(trace(), "call mul in `y = y`") == second


def test_variable_names_its_current_node() -> None:
    assert step_named(trace(), "first y's Node") < step_named(trace(), "last y's Node")
    made = trace()[step_named(trace(), "y's Node")]
    assert isinstance(made, ev.NodeCreated)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("q's Node", '"q\'s Node" does not happen; the trace has x, w, y, z'),
        ("call mull", "'call mull' does not happen; the trace has mul.Tensor"),
        ("seventh call mul", "'seventh call mul' is not the name of a stop; valid names: `z = x + y`, z's Node"),
        ("second Node SumBackward0", "'second Node SumBackward0' does not happen: there is only one matching step"),
        ("event VersionBump", "there is no event VersionBump; did you mean VersionBumped"),
        ("redispatch add to CUDA", "'redispatch add to CUDA' does not happen; the trace has"),
        (
            "call mul in `nowhere`",
            "'call mul in `nowhere`' does not happen: there are six matching steps in other lines",
        ),
        ("47", "'47' is not the name of a stop"),
    ],
)
def test_name_without_a_step_is_refused(name: str, said: str) -> None:
    with pytest.raises(UnknownStopError) as raised:
        step_named(trace(), name)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ('printed "undone"', '\'printed "undone"\' does not happen; the trace has printed "all done"'),
        ("error ValueError", "'error ValueError' does not happen; the trace has error RuntimeError \"self must be a"),
        ("q.grad", "'q.grad' does not happen; the trace has x, h"),
        ("q.grad = None", "'q.grad = None' does not happen; the trace has x, h"),
    ],
)
def test_prints_and_errors_that_exist_are_named(name: str, said: str) -> None:
    with pytest.raises(UnknownStopError) as raised:
        step_named(more(), name)
    assert str(raised.value).startswith(said)


def test_stop_that_a_recording_of_pytorch_cannot_have_is_explained() -> None:
    trace = run(Code("import torch\nx = torch.ones(2)\n")).trace
    recording = Trace(msgspec.structs.replace(trace.header, engine="torch"), trace.events)
    with pytest.raises(UnknownStopError, match=r"'event NodeQueued' does not happen\. Not seen in a release build: "):
        step_named(recording, "event NodeQueued")
    for name in ("event NodeQueued", "error", "x.grad = None", "guard InferenceMode", "event VariableSaved"):
        with pytest.raises(UnseenStopError) as raised:
            step_named(recording, name)
        assert str(raised.value).endswith(f". Not seen in a release build: {raised.value.why}")
        assert raised.value.why
    for name in ("event NodeStarted", "x.grad", "call mul", "event Nothing"):
        with pytest.raises(UnknownStopError) as other:
            step_named(recording, name)
        assert not isinstance(other.value, UnseenStopError)
    with pytest.raises(UnknownStopError, match=r"'event NodeStarted' does not happen$"):
        step_named(recording, "event NodeStarted")


DRAFT = """\
import torch
# ## Guess
# goal: x is None
x = torch.ones(2)
# ## Predict
# ask: What?
# answer: x
# because: Why.
# stop: `x = `
# ask: Which?
# - one
# - one
# - THIRD
# because: No answer.
# stop: call ones
# question: Which?
# - two
# answer: x
# hint: Look.
# ## Make
# hint: 1
# hint: 2
# hint: 3
# hint: 4
# ## Run
""".replace("THIRD", "3" * 80)

ERRORS = {
    1: "a lesson must have a title",
    2: "there is no phase 'Guess'",
    6: "a question needs a stop of its own",
    14: "write because: after answer: in a question",
    16: "there is no directive question: ...; did you mean # ask",
    24: "a phase has at most 3 hints",
    25: "Run cannot come after Make",
}


def test_all_errors_of_a_file_are_reported_at_once() -> None:
    found = {problem.line: problem.text for problem in parse_draft(DRAFT, HERE).problems}
    assert sorted(found) == sorted(ERRORS), "an error that only follows from another one is left out"
    assert all(found[line].startswith(said) for line, said in ERRORS.items())


def test_all_errors_of_a_question_are_reported_at_once() -> None:
    source = DRAFT.replace("# because: No answer.", "# answer: x")
    found = {problem.line: problem.text for problem in parse_draft(source, HERE).problems}
    assert found[12] == "two choices are the same: one"
    assert found[13].startswith("a choice has at most 72 characters")


def test_refusal_names_the_command_that_prints_all_errors() -> None:
    with pytest.raises(LessonError, match=r"here\.py, line 1: .* \(six more problems: dispatchviz lesson check here"):
        parse_lesson(DRAFT, HERE)
