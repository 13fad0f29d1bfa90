"""The shipped lessons: each has no problem, is true of PyTorch, and is played to its end with right and wrong
answers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from dispatchviz.cli.lesson_check import checked, problems, run_lesson
from dispatchviz.cli.lesson_texts import DOTS, NEW, _asks, _code, _plain, hand_out, listed
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.what_if.offered_changes import offered_changes
from dispatchviz.explain.predictions.prediction import Choice, Kind, Prediction
from dispatchviz.foundation import shipped_examples
from dispatchviz.lessons.asked.own_questions import own_questions
from dispatchviz.lessons.catalog import lesson_after, lesson_named, lessons_in, shipped_lessons
from dispatchviz.lessons.guide import Guide
from dispatchviz.lessons.lesson_file import Lesson, read_lesson
from dispatchviz.lessons.problem import LessonError
from dispatchviz.lessons.stops import FORMS, step_named
from dispatchviz.running.engines import engine_named
from dispatchviz.tui.commands.moves import move
from dispatchviz.tui.commands.predicting import answered, masked
from dispatchviz.views.lesson_rows import said
from dispatchviz.views.session import Session, Update
from tests.amounts import some
from tests.cli.command import dispatchviz, refused

LESSONS = [pytest.param(path, id=path.stem) for path in shipped_lessons()]
DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "lessons.md"
QUESTIONS = DOCS.with_name("lesson-questions.md")


@cache
def read(path: Path) -> tuple[Lesson, Trace]:
    lesson = read_lesson(path)
    return lesson, run_lesson(lesson).trace


def session(path: Path) -> Session:
    lesson, trace = read(path)
    guide = Guide(lesson, trace)
    found = Session(trace, guide.place.step, guide=guide)
    found.cursor = masked(found, found.cursor)
    return found


def played(of: Session, right: bool) -> tuple[list[Prediction], list[str]]:
    """Play a lesson to its end; return its questions, and its text at each place."""
    asked, texts = [], [_text(of)]
    while of.guide is not None and of.guide.at + 1 < len(of.guide.places):
        update = _shown(of, move(of, "resume"))
        if update.asks is not None:
            asked.append(update.asks)
            assert of.cursor.at < update.asks.reveals, "the answer is not on the screen"
            _shown(of, answered(of, update.asks, _choice(update.asks, right)))
        assert of.cursor.at == of.guide.place.step
        texts.append(_text(of))
    return asked, texts


def _shown(of: Session, update: Update) -> Update:
    of.cursor = masked(of, update.cursor)
    return update


def _choice(asked: Prediction, right: bool) -> Choice:
    wrong = (choice for choice in asked.choices if choice != asked.right)
    return asked.right if right else next(wrong, Choice("a typed answer", ""))


def _text(of: Session) -> str:
    return " ".join(" ".join(row.plain for row in said(of, of.cursor).rows).split())


@pytest.mark.parametrize("path", LESSONS)
def test_the_source_that_panes_show_has_no_answers(path: Path) -> None:
    """The stepper, the page and what-if take the source from the trace."""
    lesson, trace = read(path)
    shown = {line.strip("# ") for source in trace.header.sources.values() for line in source.split("\n") if line}
    told = {line.strip("# ") for passage in lesson.passages for line in passage.text.split("\n")}
    assert told & shown == set()
    assert "def facts" not in "".join(trace.header.sources.values())


@pytest.mark.parametrize("path", LESSONS)
def test_a_lesson_holds(path: Path) -> None:
    assert checked(path)[1], checked(path)[0]


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("path", LESSONS)
def test_a_lesson_is_played_to_its_end(path: Path, right: bool) -> None:
    of = session(path)
    lesson, trace = read(path)
    asked, texts = played(of, right)
    assert len(asked) == sum(passage.asks for passage in lesson.stops)
    for passage, text in zip(lesson.passages, texts, strict=True):
        plain = " ".join(re.sub(r"`([^`]+)`", r"\1", passage.text).split())
        assert plain in text
    total = f"{len(asked) if right else 0} of {len(asked)} right" if asked else ""
    assert of.asking.guesses.score(trace) == total
    end = move(of, "resume").note
    assert end is not None
    assert "End of the lesson" in end.plain


@pytest.mark.parametrize("path", LESSONS)
def test_back_through_a_lesson_nothing_is_asked_again(path: Path) -> None:
    of = session(path)
    played(of, True)
    assert of.guide is not None
    for at in reversed(range(len(of.guide.places) - 1)):
        update = _shown(of, move(of, "resume_back"))
        assert (update.asks, of.guide.at) == (None, at)


@pytest.mark.parametrize("path", LESSONS)
def test_a_hand_out_has_all_of_a_lesson(path: Path) -> None:
    lesson, trace = read(path)
    text = "\n".join(hand_out(Guide(lesson, trace), trace))
    assert all(" ".join(passage.text.split()) in " ".join(text.split()) for passage in lesson.passages)
    program = [row for row in lesson.program.split("\n") if row and not row.startswith("#")]
    assert all(row in text for row in program)
    assert text.count("**Question") == sum(passage.asks for passage in lesson.stops)


@pytest.mark.parametrize("path", LESSONS)
def test_a_hand_out_is_read_on_paper(path: Path) -> None:
    lesson, trace = read(path)
    text = "\n".join(hand_out(Guide(lesson, trace), trace, paper=True))
    html = MarkdownIt().render(text)
    [program] = re.findall(r'<code class="language-python">(.*?)\n</code>', html, re.DOTALL)
    rows = [row for row in unescape(program).split("\n") if row]
    source = path.read_text("utf-8").split("\n")
    assert all(source[int(number) - 1] == line for number, line in (row.lstrip().split("  ", 1) for row in rows))
    assert "\n\n```\n" not in text, "no blank line before the end of the program"
    asked = list(Guide(lesson, trace).questions.values())
    lists = [unescape(part) for part in re.findall(r"<[ou]l>\n(.*?)</[ou]l>", html, re.DOTALL)]
    wanted = []
    for each in asked:
        texts = [choice.text for choice in each.choices]
        wanted += [_items("", each.known)] if each.known else []
        wanted += [_items("☐ ", map(_code_in_html, texts) if each.kind is Kind.OWN else texts)] if texts else []
    assert [part for part in lists if part in wanted] == wanted, "what is known and the choices are lists of their own"
    assert not re.search(r"<em>|<strong>(?!Question \d|\d\. )", html), "no name is taken for a mark of Markdown"
    questions, _, answers = html.partition('<div style="break-before: page"></div>\n<h2>Answers</h2>')
    assert questions.count("<strong>Question") == answers.count("<p><strong>") == len(asked)
    assert questions.count("<p>Why? …") == len(asked)
    assert DOTS not in answers
    assert questions.count(f"<p>{DOTS}</p>") == len(asked) + 3 * sum(_asks(passage) for passage in lesson.passages)


def _items(sign: str, texts: Iterable[str]) -> str:
    return "".join(f"<li>{sign}{text}</li>\n" for text in texts)


def _code_in_html(text: str) -> str:
    """Return a text of a lesson's author, which is Markdown."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def test_hand_out_has_lines_to_write_on(tmp_path: Path) -> None:
    source = "# # A\n# Why?\nx = 1\n# ## Predict\n# Is it?\n# stop: `x = 1`\n# Look.\n# ## Make\n# A program.\n"
    assert [_asks(passage) for passage in _written(source, tmp_path).passages] == [False, True, False, True]


def test_texts_are_no_marks_of_markdown() -> None:
    text = "__torch_dispatch__ of a [x](y) `z` *args _mul __radd__: <lambda> a_b_ \\"
    assert MarkdownIt().render(_plain(text)) == f"<p>{text.replace('<', '&lt;').replace('>', '&gt;')}</p>\n"
    for code in ("`a` b", "a ``` b", "x"):
        assert MarkdownIt().render(_code(code)) == f"<p><code>{code}</code></p>\n"


def test_a_lesson_without_phases_has_its_program_on_the_hand_out(tmp_path: Path) -> None:
    lesson = _written("# # A lesson\n# About.\nx = 1\n", tmp_path)
    assert list(hand_out(Guide(lesson, run_lesson(lesson).trace), run_lesson(lesson).trace)) == [
        *("# A lesson", "", "About.", ""),
        *("```python", "3  x = 1", "```", ""),
    ]


@pytest.mark.parametrize("path", LESSONS)
def test_a_lesson_has_what_a_lesson_needs(path: Path) -> None:
    lesson, _ = read(path)
    assert lesson.title.count(" ") < 12
    assert "def check(trace)" in lesson.assertions
    assert "def facts()" in lesson.assertions, "what the prose says of PyTorch is asked of it"
    assert any(passage.asks for passage in lesson.stops)
    assert {"Predict", "Investigate", "Modify", "Make"} <= {passage.phase for passage in lesson.passages}


TRIED = {
    "forum": ["`z = torch.add`|requires_grad x off"],
    "winner": ["`y = torch.add`|inference_mode", "`y = torch.add`|autocast cpu"],
    "alias_keys": ["|register CPU aten::sum"],
    "registration": ['`"CPU"`|skip'],
    "fallthrough": ["call add|fallthrough AutogradCPU aten::add.Tensor"],
    "guards": ["`c = `|skip"],
    "modes": ["`y = torch.mm`|no_grad", "`y = torch.mm`|inference_mode", "`y = torch.mm`|autocast cpu"],
    "in_place": ["`d.mul_(3)`|skip"],
    "views": ["|no_grad"],
    "code_generator": ["|requires_grad x off"],
    "node": ["|requires_grad w"],
    "engine": ["`b = x * w`|requires_grad w off"],
    "pruning": ["`h = x * x`|requires_grad x off"],
    "stealing": ["`y.sum().backward()`|dtype float64 y"],
    "no_gradient": ["`k = b * 2`|enable_grad"],
    "hooks": ["`return gradient * 10`|enable_grad"],
    "double_backward": ["`first`|no_grad"],
    "custom_function": ["`y = Rounded.apply`|no_grad"],
    "saved_tensors": ["`y.add_(1)`|no_grad"],
    "saved_hooks": ["`y.add_(1)`|skip"],
    "forward_mode": ["`dual = forward_ad`|requires_grad x"],
    "grad_levels": ["`first = `|requires_grad x"],
    "dispatch_modes": ["`y = torch.nn`|inference_mode"],
    "encoder_layer": ["`z = layer(x)`|enable_grad"],
    "streams": ["`_set_sequence_nr`|skip"],
    "call_stack": ["`torch.add`|no_grad", "`torch.add`|inference_mode"],
    "then_and_now": ["`z = `|no_grad"],
}
"""The changes that a lesson suggests for ``W``: the step (the last stop if there is no name) and the change."""


def test_changes_that_a_lesson_suggests_are_offered() -> None:
    for path in shipped_lessons():
        lesson, trace = read(path)
        asks = any("press `W`" in passage.text or "Press `W`" in passage.text for passage in lesson.passages)
        assert asks == (lesson.name in TRIED), lesson.name
        for stop, _, change in (each.partition("|") for each in TRIED.get(lesson.name, ())):
            step = step_named(trace, stop or lesson.stops[-1].stop)
            offered = [each.change.command for each in offered_changes(trace, step)]
            assert change in offered, (lesson.name, stop, offered)


@pytest.mark.torch
@pytest.mark.parametrize("path", LESSONS)
def test_the_facts_of_a_lesson_are_pytorchs(path: Path) -> None:
    pytest.importorskip("torch")
    names: dict[str, object] = {}
    exec(compile(read_lesson(path).assertions, str(path), "exec"), names)
    facts = names["facts"]
    assert callable(facts)
    facts()


@pytest.mark.parametrize("path", LESSONS)
def test_own_questions_of_a_lesson_state_their_answers(path: Path) -> None:
    questions = (passage.question for passage in read_lesson(path).passages)
    assert all(question.stated for question in questions if question is not None)


@pytest.mark.torch
@pytest.mark.parametrize("path", [each for each in LESSONS if "\n# ask:" in each.values[0].read_text("utf-8")])
def test_own_answers_of_a_lesson_are_pytorchs(path: Path) -> None:
    pytest.importorskip("torch")
    lesson, trace = read(path)
    assert own_questions(lesson, trace, engine_named("torch")) == own_questions(lesson, trace)


NEED_CUDA = ("forum", "key_sets", "streams")


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.parametrize("path", some(shipped_lessons(), 7), ids=lambda path: path.stem)
def test_lesson_has_no_problem_on_a_recording(path: Path) -> None:
    torch = pytest.importorskip("torch")
    if path.stem in NEED_CUDA and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    lines, holds = checked(path, "torch")
    assert holds, lines


@pytest.mark.torch
def test_steps_that_only_the_model_shows_are_no_problems() -> None:
    pytest.importorskip("torch")
    path = lesson_named("engine", None).path
    (counts, *limits), holds = checked(path, "torch")
    assert (counts, holds) == ("engine: six stops, four questions, no problems", True)
    assert limits[0].startswith(f"{path}, lines 22 and 33: only the model shows this: the engine does not expose")
    assert limits[-1].endswith("check(trace) did not run, because the recording lacks steps of the lesson")
    assert len(limits) == 3


def test_the_order_is_that_of_the_page_of_examples() -> None:
    folder = shipped_examples.folder() / "lessons"
    assert sorted(shipped_lessons()) == sorted(folder.glob("*.py"))
    assert lesson_named("1", None).path == shipped_lessons()[0]


@pytest.fixture
def teachers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with lessons among other files."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "d", "_helper"):
        (tmp_path / f"{name}.py").write_text(NEW, "utf-8")
    (tmp_path / "b.py").write_text("# # A notebook\nimport torch\n", "utf-8")
    (tmp_path / "broken.py").write_text("x = (\n", "utf-8")
    (tmp_path / "c.py").mkdir()
    (tmp_path / "notes.txt").write_text(NEW, "utf-8")
    return tmp_path


def test_the_lesson_after_is_a_lesson(teachers: Path) -> None:
    files = {"a.py": "d.py", "./a.py": "d.py", str(teachers / "a.py"): str(teachers / "d.py"), "d.py": ""}
    assert {name: lesson_after(lesson_named(name, None)) for name in files} == files
    assert lesson_after(lesson_named("_helper.py", None)) == ""
    (teachers / "within").mkdir()
    os.chdir("within")
    assert lesson_after(lesson_named("a", Path(".."))) == "../d.py"
    assert lesson_after(read_lesson(teachers / "notes.txt")) == ""


@pytest.mark.parametrize("other", ["# stop: early\nimport torch\n", "# stop: call mul\nx = (\n", "# # A\nstop = 1\n"])
def test_file_that_is_no_lesson_does_not_come_after_one(other: str, teachers: Path) -> None:
    (teachers / "e.py").write_text(other, "utf-8")
    assert lesson_after(lesson_named("d.py", None)) == ""
    assert lesson_after(lesson_named("a.py", None)) == "d.py"


def test_file_with_the_name_of_a_lesson_is_suggested(teachers: Path) -> None:
    with pytest.raises(LessonError, match=r"^there is no lesson 'a'; did you mean the file a\.py\?$"):
        lesson_named("a", None)


def test_next_lesson_does_not_depend_on_the_name_given(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shipped_examples.folder()
    monkeypatch.chdir(folder.parent)
    files = [f"{folder.name}/lessons/{path.name}" for path in shipped_lessons()]
    after = [lesson_after(lesson_named(file, None)) for file in files]
    assert after == [*(path.stem for path in shipped_lessons()[1:]), ""]
    assert after == [lesson_after(lesson_named(path.stem, None)) for path in shipped_lessons()]


def test_other_files_in_a_folder_are_no_lessons(teachers: Path) -> None:
    assert [path.name for path in lessons_in(teachers)] == ["a.py", "d.py"]
    assert listed(teachers) == [
        f"{k:>2}  {name}  The title of the lesson: a question" for k, name in ((1, "a"), (2, "d"))
    ]
    (teachers / "broken.py").write_text("# stop: call mul\nx = (\n", "utf-8")
    with pytest.raises(LessonError, match=r"broken\.py, line 2"):
        listed(teachers)


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (
            ("# stop: y's Node", "# stop: q's Node"),
            "# stop: q's Node",
            '"q\'s Node" does not happen; the trace has x, y',
        ),
        (("# stop: y's Node", "# predict: y's Node in `x =`"), "# predict: y's Node in", "does not happen"),
        (
            ("# predict: call mul", "# predict: key set of mul"),
            "# predict: key set",
            "answers no question: write # stop",
        ),
        (("y = x * 2", "y = x * None"), "y = x * None", "the program raises TypeError"),
        (("y = x * 2\n", "y = x * 2  # raises\n"), "", ""),
        (('"AutogradCPU"', '"AutogradCUDA"'), "assert_subsequence", "AssertionError: pattern 0 of 2"),
        (("def check(trace)", "def checks(trace)"), "# # The title", "the lesson has no closing assertion"),
    ],
)
def test_problem_is_reported_with_its_line(change: tuple[str, str], line: str, said: str, tmp_path: Path) -> None:
    source = NEW.replace(*change)
    found = list(problems(_written(source, tmp_path)))
    if not said:
        assert not found
        return
    assert [said in problem.text for problem in found].count(True) == 1, found
    assert line in source.split("\n")[found[0].line - 1]


def test_check_takes_lessons_by_name(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(NEW, "utf-8")
    checked_twice = dispatchviz("lesson", "check", "gradient_sum", "new.py", cwd=tmp_path)
    assert [line.partition(":")[0] for line in checked_twice.out.splitlines()] == ["gradient_sum", "new"]
    assert dispatchviz("lesson", "--folder", ".", "check", "new", cwd=tmp_path).out.startswith("new: ")
    ended = dispatchviz("lesson", "check", "gradient_sums", cwd=tmp_path)
    assert ended.status == 2
    assert ended.err.startswith("dispatchviz: there is no lesson 'gradient_sums'; did you mean gradient_sum ")


def test_all_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    source = NEW.replace("# ## Investigate", "# ## Look").replace("# stop: y's Node", "# stop: q's Node")
    source = source.replace("# answer: y.is_leaf -> no", "# answer: q -> no").replace('"AutogradCPU"', '"AutogradCUDA"')
    (tmp_path / "new.py").write_text(source, "utf-8")
    (tmp_path / "broken.py").write_text("# stop: call mul\nx = (\n", "utf-8")
    ended = dispatchviz("lesson", "--folder", ".", "check", cwd=tmp_path)
    lines = source.split("\n")
    at = [lines.index(text) + 1 for text in ("# answer: q -> no", "# ## Look", "# stop: q's Node")]
    at.append(next(k for k, text in enumerate(lines, 1) if "assert_subsequence" in text))
    rows = [row for row in ended.out.split("\n") if ".py, line " in row]
    assert [row.partition(": ")[0] for row in rows] == ["broken.py, line 2", *(f"new.py, line {line}" for line in at)]
    assert (ended.status, ended.err) == (1, "")


def test_lesson_with_wrong_answers_is_refused_with_their_number(tmp_path: Path) -> None:
    source = NEW.replace("# answer: y.is_leaf", "# answer: q").replace("# stop: y's Node", "# stop: q's Node")
    _written(source, tmp_path)
    said = refused("lesson", "new.py", cwd=tmp_path)
    assert "there is no variable q" in said
    assert said.endswith(" (one more problem: dispatchviz lesson check new.py)\n")


@pytest.mark.parametrize(
    ("old", "new", "first"),
    [("# answer: y.is_leaf", "# answer: q", "there is no variable q"), ("# ## Make", "# ## Do", "there is no phase"),
     ("# because: An", "# note: An", "there is no directive note: ...; did you mean # because: ...?")],
)  # fmt: skip
def test_refusal_counts_the_problems_that_only_the_check_finds(old: str, new: str, first: str, tmp_path: Path) -> None:
    source = NEW.replace(old, new).replace("# goal: y.tolist() ==", "# goal: y.tolist() =")
    (tmp_path / "new.py").write_text(source.replace('"AutogradCPU"', '"AutogradCUDA"'), "utf-8")
    assert len(dispatchviz("lesson", "check", "new.py", cwd=tmp_path).out.rstrip().split("new.py, line ")) == 4
    said = refused("lesson", "new.py", cwd=tmp_path)
    assert first in said
    assert said.endswith(" (two more problems: dispatchviz lesson check new.py)\n")


@pytest.mark.parametrize("part", [
    "# answer: y.is_leaf -> yes\n# note: because.\n",
    "# solution: y.is_leaf\n# because: It is.\n",
    "# solution: y.is_leaf\n",
    "# - yes: it is.\n# choice: no\n# answer: y.is_leaf\n",
])  # fmt: skip
def test_problem_that_follows_from_a_mistyped_directive_is_left_out(part: str, tmp_path: Path) -> None:
    source = f"# # A title\nimport torch\ny = torch.ones(2) * 2\n# stop: `y = `\n# ask: A leaf?\n{part}"
    (tmp_path / "new.py").write_text(f"{source}\n\ndef check(trace): ...\n", "utf-8")
    [said] = checked(tmp_path / "new.py")[0]
    assert "there is no directive " in said


def test_problem_that_follows_from_the_end_of_the_program_is_no_other_one(tmp_path: Path) -> None:
    source = NEW.replace("y = x * 2", "y = x * None").replace("# stop: y's Node", "# stop: 47")
    ended, *_, wrong = problems(_written(source, tmp_path))
    lines = source.split("\n")
    assert not any("does not happen" in problem.text for problem in problems(_written(source, tmp_path)))
    follows = [k for k, line in enumerate(lines, 1) if line == "# predict: call mul"]
    assert ended.text.endswith(f"expects no error; the stops in these lines do not happen then: {follows[0]}")
    assert (lines[wrong.line - 1], wrong.text[:27]) == ("# stop: 47", "'47' is not the name of a s")


def test_a_question_whose_answer_was_shown_is_refused(tmp_path: Path) -> None:
    source = NEW.replace("# stop: y's Node", "# predict: cell of mul at AutogradCPU").replace(
        "# predict: call mul", "# stop: kernel wrapper_CPU_mul_Tensor"
    )
    [problem] = problems(_written(source, tmp_path))
    assert "an earlier stop is at step" in problem.text


@pytest.mark.long
def test_options_may_precede_or_follow_the_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(NEW, "utf-8")
    behind = dispatchviz("lesson", "--folder", tmp_path, "mine", "--plain")
    assert behind.status == 0
    assert behind == dispatchviz("lesson", "--plain", "--folder", tmp_path, "mine")
    named = tmp_path / "a.md"
    assert dispatchviz("lesson", "-o", named, "--folder", tmp_path, "mine") == (0, f"{named} written\n", "")
    ended = dispatchviz("lesson", "--answers", tmp_path, "--folder", tmp_path, "mine")
    assert ended == (2, "", f"dispatchviz: cannot read {tmp_path}: Is a directory\n")
    assert dispatchviz("lesson", "--folder", tmp_path).out.endswith(
        f"\ndispatchviz lesson --folder {tmp_path} NAME opens one; a number works, too\n"
    )


def test_a_lesson_is_not_called_as_a_module_of_python(tmp_path: Path) -> None:
    path = tmp_path / "numbers.py"
    path.write_text(NEW, "utf-8")
    assert "Python has a module numbers" in checked(path)[0][0]


@pytest.mark.parametrize(("page", "name"), [(DOCS, "retain_graph"), (QUESTIONS, "gradients")], ids=["lessons", "own"])
def test_the_lesson_of_the_documentation_holds(page: Path, name: str, tmp_path: Path) -> None:
    path = _documented(page, tmp_path / f"{name}.py")
    lines, holds = checked(path)
    assert holds, lines
    assert page == DOCS or lines[0] in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "at"),
    [(("-> no", "-> yes"), 0), (("h.grad is not None", "q.grad"), 1), (("# ask: Does", "# question: Does"), 2)],
)
def test_errors_of_the_documentation_are_printed(change: tuple[str, str], at: int, tmp_path: Path) -> None:
    path = _documented(QUESTIONS, tmp_path / "gradients.py")
    path.write_text(path.read_text("utf-8").replace(*change), "utf-8")
    [errors] = re.findall(r"```text\n(.*?)```", QUESTIONS.read_text("utf-8"), re.DOTALL)
    try:
        said = "\n".join(checked(path)[0])
    except LessonError as error:
        said = str(error)
    assert errors.split("\n")[at] in said.replace(f"{tmp_path}/", "")


def _documented(page: Path, path: Path) -> Path:
    """Write the lesson of a page."""
    [source] = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    path.write_text(source, "utf-8")
    return path


def test_the_documentation_has_every_name_of_a_stop() -> None:
    text = DOCS.read_text("utf-8")
    assert all(f"{form.written} `" in text or f"{form.written}`" in text for form in FORMS)
    assert all(f"| {form.means} |" in text for form in FORMS)


def test_a_check_prints_nothing_of_the_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert not list(problems(_written(NEW.replace("y = x * 2", "y = x * 2; print(y)"), tmp_path)))
    assert capsys.readouterr() == ("", "")


def test_warnings_of_facts_are_not_printed(tmp_path: Path) -> None:
    facts = "import os, warnings; warnings.warn('an old name'); os.write(2, b'as C++ does')"
    _written(f"{NEW}\n\ndef facts():\n    {facts}\n", tmp_path)
    assert dispatchviz("lesson", "check", tmp_path / "new.py") == (
        0,
        "new: three stops, two questions, no problems\n",
        "",
    )


def _written(source: str, folder: Path) -> Lesson:
    path = folder / "new.py"
    path.write_text(source, "utf-8")
    return read_lesson(path)
