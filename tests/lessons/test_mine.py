"""``lesson NAME --mine FILE``: the learner's file, the facts and goals in it, three hints, one clear error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.cli.lesson_check import run_lesson
from dispatchviz.lessons.catalog import lesson_named, shipped_lessons
from dispatchviz.lessons.lesson_file import Lesson, read_lesson
from dispatchviz.lessons.mine.facts import Fact, facts
from dispatchviz.lessons.mine.goals import reached
from dispatchviz.lessons.mine.hints import hints
from dispatchviz.lessons.mine.learner_program import learners_lesson, write_first
from dispatchviz.lessons.problem import LessonError
from tests.cli.command import dispatchviz, refused
from tests.lessons.own_lesson import QUESTIONS, found, written

HOMEWORK = Path(__file__).parents[2] / "docs" / "how-to" / "lesson-homework.md"

SOLUTIONS = {path.stem: path.read_text("utf-8") for path in Path(__file__).with_name("solutions").glob("[!_]*.py")}


def mine(lesson: Lesson, folder: Path, program: str) -> Lesson:
    path = folder / "mine.py"
    path.write_text(program, "utf-8")
    return learners_lesson(lesson, path)


def compared(lesson: Lesson, folder: Path, program: str) -> list[Fact]:
    changed = mine(lesson, folder, program)
    return facts(lesson, run_lesson(lesson).trace, changed, run_lesson(changed).trace)


# -- facts -------------------------------------------------------------------------------------------------------------


def test_all_facts_hold_in_an_unchanged_copy(tmp_path: Path) -> None:
    lesson = written(tmp_path, QUESTIONS)
    assert all(fact.holds for fact in compared(lesson, tmp_path, lesson.path.read_text("utf-8")))


def test_facts_report_what_happened_instead(tmp_path: Path) -> None:
    lesson = written(tmp_path, f"{QUESTIONS}#\n# predict: call mm\n# stop: run SumBackward0\n")
    program = lesson.path.read_text("utf-8").replace("z = f(f(x))", "z = f(x).exp()").replace("torch.mm(x, x)", "1")
    by_name = {fact.about: fact for fact in compared(lesson, tmp_path, program)}
    grad = by_name["What is `x.grad` now?"]
    assert (grad.holds, grad.lesson.text, grad.mine.text) == (False, "[7, 7]", "[60.2566, 60.2566]")
    assert by_name["Does `z.grad` have a gradient after this line?"].holds
    assert by_name["Was `z` changed?"].mine.text.startswith("does not happen")
    key = by_name["aten::mm is called. Which key wins?"]
    assert (key.lesson.text, key.mine.step) == ("AutogradCPU", None)
    assert key.mine.text.startswith("does not happen; the trace has ")
    assert by_name["run SumBackward0"].holds


@pytest.mark.parametrize(
    ("line", "end", "holds"), [("", "without an error", True), ("raise ValueError('no')", "with ValueError", False)]
)
def test_end_of_the_program_is_a_fact(line: str, end: str, holds: bool, tmp_path: Path) -> None:
    lesson = written(tmp_path, QUESTIONS)
    last = compared(lesson, tmp_path, f"{lesson.path.read_text('utf-8')}\n{line}\n")[-1]
    assert (last.about, last.mine.text, last.holds) == ("How does the program end?", end, holds)


ANSWERED = {
    "What is `x.grad` now?": "[7, 7]",
    "Was `z` changed?": "no",
    "aten::mm is called. Which key wins?": "AutogradCPU",
}


@pytest.mark.parametrize(
    "change", [("", ""), ("z = f(f(x))", "z = f(x).exp()"), ("x = torch.ones(2,", "x = torch.ones(3,")]
)
def test_report_has_no_answer_and_nothing_of_check(change: tuple[str, str], tmp_path: Path) -> None:
    lesson = written(tmp_path, f"{QUESTIONS}#\n# predict: call mm\n")
    (tmp_path / "mine.py").write_text(lesson.path.read_text("utf-8").replace(*change) if change[0] else lesson.program)
    ended = dispatchviz("lesson", "own.py", "--mine", "mine.py", "--hint", "3", cwd=tmp_path)
    rows = ended.out.split("\n")
    assert all(any(about in row for row in rows) for about in ANSWERED)
    for text in ("[7, 7]", "AutogradCPU", "only leaves", "is the result of an operator", "assert", "closing"):
        assert text not in ended.out


def test_question_without_an_answer_says_what_is_missing(tmp_path: Path) -> None:
    lesson = written(tmp_path, QUESTIONS)
    [fact] = [
        each
        for each in compared(lesson, tmp_path, lesson.path.read_text("utf-8").replace("z", "q").replace("`q", "`z"))
        if each.about.startswith("Does")
    ]
    assert fact.change.startswith("in your program: does not happen")
    program = lesson.path.read_text("utf-8").replace("count = 5", "count = 5; del x")
    changes = {fact.about: fact.change for fact in compared(lesson, tmp_path, program) if not fact.holds}
    assert changes["What is `x.grad` now?"].startswith("in your program: no answer, because there is no variable x")


# -- goals and hints ---------------------------------------------------------------------------------------------------

GOALS = """\
# ## Make
#
# Write it.
# goal: x.grad is None
# goal: z.tolist() == [6, 6] and
#   not happens("error")
# hint: One.
# hint: Two
# goes on.
"""


def test_goals_and_hints_are_read(tmp_path: Path) -> None:
    lesson = written(tmp_path, GOALS)
    assert [goal.text for goal in lesson.goals] == ["x.grad is None", 'z.tolist() == [6, 6] and not happens("error")']
    assert lesson.hints == ("One.", "Two goes on.")
    assert lesson.passages[-1].text == "Write it."


def test_goals_have_the_values_that_they_compare(tmp_path: Path) -> None:
    lesson = written(tmp_path, GOALS)
    first, second = reached(lesson, run_lesson(lesson).trace)
    assert (first.holds, list(first.why)) == (False, ["x.grad is [7, 7]"])
    assert (second.holds, list(second.why)) == (False, ["z.tolist() is [7, 7]"])
    program = "import torch\nx = torch.ones(2)\nz = x * 6\n"
    done = mine(lesson, tmp_path, program)
    assert all(goal.holds for goal in reached(done, run_lesson(done).trace))


PHASES = """\
# ## Modify
# goal: z.tolist() == [6, 6]
# goal: k == 1
# hint: Modify it.
# ## Make
# goal: z.tolist() == [5, 5]
# goal: k == 2
# hint: Make it.
"""

START = "import torch\nz = torch.ones(2) * {z}\nk = {k}\n"


@pytest.mark.parametrize(
    ("z", "k", "counts", "status", "hint"),
    [
        (6, 1, "Modify: 2 of 2 goals reached, Make: 0 of 2 goals reached", 0, "Make it."),
        (5, 2, "Modify: 0 of 2 goals reached, Make: 2 of 2 goals reached", 0, ""),
        (6, 0, "Modify: 1 of 2 goals reached, Make: 0 of 2 goals reached", 1, "Modify it."),
        (5, 0, "Modify: 0 of 2 goals reached, Make: 1 of 2 goals reached", 1, "Make it."),
        (0, 0, "Modify: 0 of 2 goals reached, Make: 0 of 2 goals reached", 1, "Modify it."),
    ],
)
def test_goals_and_hints_belong_to_their_phase(
    z: int, k: int, counts: str, status: int, hint: str, tmp_path: Path
) -> None:
    written(tmp_path, PHASES)
    (tmp_path / "mine.py").write_text(START.format(z=z, k=k))
    ended = dispatchviz("lesson", "own.py", "--mine", "mine.py", "--hint", "1", cwd=tmp_path)
    assert ended.status == status
    assert f"mine.py: {counts}, 1 of 1 facts" in ended.out
    assert re.search(r"\nGoals of Modify\n  .*\n(  +.*\n)+\nGoals of Make\n", ended.out)
    assert re.findall("M.* it[.]", ended.out) == [hint] * bool(hint)


def test_each_phase_has_at_most_three_hints(tmp_path: Path) -> None:
    lesson = written(tmp_path, "# ## Modify\n# hint: 1\n# hint: 2\n# hint: 3\n# ## Make\n# hint: 4\n# hint: 5\n")
    assert lesson.hints == ("1", "2", "3", "4", "5")


def test_check_refuses_a_phase_whose_goals_are_reached_already(tmp_path: Path) -> None:
    made = PHASES.replace("[6, 6]", "[7, 7]").replace("k == 1", "x.grad.tolist() == [7, 7]")
    [problem] = found(tmp_path, f"# stop: call mm\n{made}")
    assert "the program of the lesson reaches all goals of Modify, so" in problem.text
    assert problem.line == 23


def test_goal_is_evaluated_after_an_error(tmp_path: Path) -> None:
    lesson = written(tmp_path, '# ## Make\n# goal: happens("error ValueError") and k == 1\n')
    ended = mine(lesson, tmp_path, "import torch\nx = torch.ones(2)\nk = 1\nraise ValueError\n")
    assert reached(ended, run_lesson(ended).trace)[0].holds


def test_three_hints_begin_with_those_of_the_author(tmp_path: Path) -> None:
    lesson = written(tmp_path, GOALS)
    compared_facts = compared(lesson, tmp_path, lesson.path.read_text("utf-8"))
    goals = reached(lesson, run_lesson(lesson).trace)
    one, two, three = hints(lesson, compared_facts, goals, "open STEP")
    assert (one, two) == ("One.", "Two goes on.")
    assert three.startswith("Your program still does everything")


def test_hints_without_goals_are_about_the_first_change(tmp_path: Path) -> None:
    lesson = written(tmp_path, "# predict: call mm\n")
    different = compared(lesson, tmp_path, lesson.path.read_text("utf-8").replace("torch.mm(x, x)", "x.T"))
    one, two, three = hints(lesson, different, [], "open STEP")
    assert one.startswith("Your change has an effect. The first one is at the stop call mm.")
    assert two.startswith("aten::mm is called. Which key wins? In your program: does not happen")
    assert "AutogradCPU" not in one + two + three, "the lesson asks for it"
    assert three.startswith("Compare the lines of both programs")


def test_hints_of_another_answer_name_the_step(tmp_path: Path) -> None:
    lesson = written(tmp_path, "# predict: call mm\n")
    program = lesson.path.read_text("utf-8").replace("torch.mm(x, x)", "torch.mm(x.detach(), x.detach().half())")
    different = compared(lesson, tmp_path, program.replace("x = torch.ones(2, ", "x = torch.ones(2, device='meta', "))
    _, two, three = hints(lesson, different, [], "open STEP")
    assert two == "aten::mm is called. Which key wins? Your program has another answer than the lesson."
    assert three == f"Look at this step: open {different[0].mine.step}"


def test_nothing_to_hint_without_a_difference(tmp_path: Path) -> None:
    lesson = written(tmp_path, "# predict: call mm\n")
    assert hints(lesson, compared(lesson, tmp_path, lesson.path.read_text("utf-8")), [], "") == ()


WRONG = [
    ("# goal: x is None\n", "write goal: in the phases Modify and Make only"),
    ("# ## Predict\n# hint: Look.\n", "write hint: in the phases Modify and Make only"),
    ("# ## Make\n# hint: 1\n# hint: 2\n# hint: 3\n# hint: 4\n", "a phase has at most three hints"),
]


@pytest.mark.parametrize(("part", "said"), WRONG)
def test_goals_and_hints_in_a_wrong_place_are_refused(part: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LessonError, match=said.replace("three", "3")):
        written(tmp_path, part)


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("x.grad is", "'x.grad is' is not an expression of Python"),
        ("f(x)", "calls f, which an answer cannot call"),
        ("x.grad is not None", "the program of the lesson reaches all goals"),
    ],
)
def test_check_refuses_a_goal_that_is_none(goal: str, said: str, tmp_path: Path) -> None:
    [problem] = found(tmp_path, f"# stop: call mm\n# ## Make\n# goal: {goal}\n")
    assert said in problem.text
    assert problem.line == 23


@pytest.mark.parametrize("path", shipped_lessons(), ids=lambda path: path.stem)
def test_goals_of_a_shipped_lesson_can_be_reached(path: Path, tmp_path: Path) -> None:
    lesson = read_lesson(path)
    assert bool(lesson.goals) == (lesson.name in SOLUTIONS)
    assert len(lesson.hints) == (3 if lesson.goals else 0)
    if lesson.goals:
        solved = mine(lesson, tmp_path, SOLUTIONS[lesson.name])
        goals = reached(solved, run_lesson(solved).trace)
        assert [(goal.goal.text, list(goal.why)) for goal in goals if not goal.holds] == []


# -- the command -------------------------------------------------------------------------------------------------------


def test_first_file_has_the_program_and_its_tasks(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    ended = dispatchviz("lesson", "in_place", "--mine", path)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith(f"{path} written: the program of the lesson, and its tasks\nChange it, then run: ")
    text = path.read_text("utf-8")
    assert text.startswith("# How does PyTorch notice that a saved tensor changed?\n#\n# Modify\n# Go to the line")
    assert "z = y * y\n\nd = y.detach()\n" in text
    assert "MulBackward0 saves" not in text, "no hint"
    assert "predict" not in text


def test_command_of_a_lesson_in_a_folder_has_the_folder(tmp_path: Path) -> None:
    written(tmp_path, QUESTIONS)
    ended = dispatchviz("lesson", "--folder", ".", "own", "--mine", "mine.py", cwd=tmp_path)
    assert ended.out.endswith("Change it, then run: dispatchviz lesson --folder . own --mine mine.py\n")


def test_first_file_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("x = 1\n")
    with pytest.raises(LessonError, match="cannot write"):
        write_first(lesson_named("forum", None), tmp_path / "mine.py")
    assert (tmp_path / "mine.py").read_text() == "x = 1\n"


def test_report_of_the_documentation_is_printed(tmp_path: Path) -> None:
    mine(lesson_named("in_place", None), tmp_path, SOLUTIONS["in_place"].replace("y + y", "y.exp()"))
    ended = dispatchviz("lesson", "in_place", "--mine", "mine.py", "--hint", "2", cwd=tmp_path)
    [report] = re.findall(r"```text\n(How.*?)```", HOMEWORK.read_text("utf-8"), re.DOTALL)
    assert ended.out.startswith(report)
    assert ended.status == 1
    assert "Hint 1 of 3\n  Which operator computes `z`, and what does its Node save?\nHint 2 of 3\n" in ended.out
    assert "`z = y + y`" not in ended.out, "not asked for"
    assert ended.out.endswith("The next hint: dispatchviz lesson in_place --mine mine.py --hint 3\n")


def test_reached_goals_exit_with_0_and_give_no_hint(tmp_path: Path) -> None:
    path = mine(lesson_named("forum", None), tmp_path, SOLUTIONS["forum"]).path
    ended = dispatchviz("lesson", "forum", "--mine", path)
    assert ended.status == 0
    assert f"{path}: 3 of 3 goals reached, 2 of 8 facts of the lesson hold" in ended.out
    assert re.search(r"Which key wins\?\n +your program has another answer.*\n +look: .* --step \d+\s", ended.out)
    assert "hint" not in ended.out
    assert "✗" not in ended.out, "a changed fact is no mistake"
    assert ended.out.count("\n  ≠ ") == 6
    assert ended.out.count("A changed fact is no mistake.") == 1


def test_report_of_an_unchanged_copy_mentions_no_change(tmp_path: Path) -> None:
    path = mine(lesson_named("forum", None), tmp_path, lesson_named("forum", None).program).path
    ended = dispatchviz("lesson", "forum", "--mine", path)
    assert "≠" not in ended.out
    assert "changed fact" not in ended.out
    assert "\n  ✗ not happens" in ended.out


def test_unexpected_error_is_reported_with_the_command_that_explains_it(tmp_path: Path) -> None:
    path = mine(lesson_named("forum", None), tmp_path, "import torch\nx = torch.ones(2) + torch.ones(3)\n").path
    ended = dispatchviz("lesson", "forum", "--mine", path)
    assert f"{path}, line 2: RuntimeError: The size of tensor a (2)" in ended.out
    assert f"\nWhy: dispatchviz why {path}\n" in ended.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mine", "mine.txt"], "the name of your program must end in .py"),
        (["--mine", "."], "cannot read the program ."),
        (["--mine", "bad.py"], "bad.py, line 1: '(' was never closed"),
        (["--mine", "empty.py"], "empty.py: nothing was recorded; a program for a lesson must call PyTorch"),
        (["--hint", "1"], "--hint needs your program: --mine FILE"),
        (["--mine", "bad.py", "--plain"], "--plain with --mine"),
        (["--mine", "none/mine.py"], "cannot write none/mine.py: No such file or directory"),
    ],
)
def test_wrong_use_is_one_clear_error(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = (\n")
    (tmp_path / "empty.py").write_text("")
    assert said in refused("lesson", "forum", *arguments, cwd=tmp_path)


@pytest.mark.parametrize("name", ["mine.dvtrace", "mine.jsonl", "mine.jsonl.gz"])
def test_saved_trace_is_no_program(name: str, tmp_path: Path) -> None:
    run_lesson(lesson_named("forum", None)).trace.save(tmp_path / name)
    said = refused("lesson", "forum", "--mine", name, cwd=tmp_path)
    assert said == f"dispatchviz: {name} is a saved trace; this needs the program itself, a .py file\n"
