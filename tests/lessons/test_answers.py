"""Answers of learners: kept only in our own files, where the first answer counts, and summed up for the teacher."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dispatchviz.cli.lesson_check import run_lesson
from dispatchviz.cli.lesson_results import result_lines
from dispatchviz.lessons.answers import Answer, AnswersError, KeptAnswers, read_answers
from dispatchviz.lessons.catalog import lesson_named
from dispatchviz.lessons.guide import Guide
from dispatchviz.tui.commands.predicting import answered
from dispatchviz.views.predictions.guesses import question_at
from dispatchviz.views.session import Session
from dispatchviz.views.text.console import Console
from tests.cli.command import dispatchviz


def answer(choice: str | None, stop: str = "call add", lesson: str = "forum", right: str = "AutogradCUDA") -> Answer:
    return Answer(lesson=lesson, stop=stop, question="which key wins?", choice=choice, right=right)


def write(folder: Path, name: str, *answers: Answer) -> Path:
    kept = KeptAnswers(folder / f"{name}.json")
    for each in answers:
        assert kept.add(each) == ""
    return folder / f"{name}.json"


# -- the file ---------------------------------------------------------------------------------------------------------


def test_the_first_answer_counts(tmp_path: Path) -> None:
    path = write(tmp_path, "ada", answer("CUDA"), answer("AutogradCUDA"), answer(None, "z's Node"))
    assert read_answers(path) == (answer("CUDA"), answer(None, "z's Node"))
    again = write(tmp_path, "ada", answer("AutogradCUDA"))
    assert read_answers(again) == (answer("CUDA"), answer(None, "z's Node"))


def test_the_file_is_as_it_is_documented(tmp_path: Path) -> None:
    path = write(tmp_path, "ada", answer("CUDA"), answer(None, "z's Node"))
    assert json.loads(path.read_text()) == {
        "format": "dispatchviz answers",
        "answers": [
            {
                "lesson": "forum",
                "stop": "call add",
                "question": "which key wins?",
                "choice": "CUDA",
                "right": "AutogradCUDA",
            },
            {"lesson": "forum", "stop": "z's Node", "question": "which key wins?", "right": "AutogradCUDA"},
        ],
    }


MISSHAPEN = [
    "",
    "notes\n",
    '{"format": 3, "answers": []}',
    "{}",
    "[]",
    "null",
    '{"format": "other", "answers": []}',
    '{"format": "dispatchviz answers", "answers": [{"lesson": "forum"}]}',
    '{"format": "dispatchviz answers", "answers": {}}',
    '{"format": "dispatchviz answers", "answers": [], "more": 1}',
    "[" * 100_000,
    "\udcff",
]


@pytest.mark.parametrize("text", MISSHAPEN, ids=[text[:20] for text in MISSHAPEN])
def test_other_files_are_never_overwritten(text: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = path.read_bytes()
    with pytest.raises(AnswersError, match=r"notes\.json is not a file of answers"):
        KeptAnswers(path)
    with pytest.raises(AnswersError, match=r"notes\.json is not a file of answers"):
        read_answers(path)
    assert path.read_bytes() == before


def test_file_replaced_meanwhile_stays_unchanged(tmp_path: Path) -> None:
    kept = KeptAnswers(tmp_path / "ada.json")
    (tmp_path / "ada.json").write_text("mine")
    assert "is not a file of answers" in kept.add(answer("CUDA"))
    assert (tmp_path / "ada.json").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_pipe_keeps_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ada.json")
    with pytest.raises(AnswersError, match=r"ada\.json is not a file: answers cannot be kept there$"):
        KeptAnswers(tmp_path / "ada.json")


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AnswersError, match="cannot write"):
        KeptAnswers(tmp_path / "missing" / "ada.json")


# -- a lesson keeps them ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("right", [True, False, None])
def test_lesson_keeps_answers_to_its_questions(right: bool | None, tmp_path: Path) -> None:
    lesson = lesson_named("forum", None)
    trace = run_lesson(lesson).trace
    guide = Guide(lesson, trace, kept=KeptAnswers(tmp_path / "ada.json"))
    session = Session(trace, 0, guide=guide)
    for step in guide.asked:
        asked = question_at(trace, step)
        assert asked is not None
        wrong = next(choice for choice in asked.choices if choice != asked.right)
        answered(session, asked, None if right is None else asked.right if right else wrong)
    kept = read_answers(tmp_path / "ada.json")
    assert [each.stop for each in kept] == list(guide.asked.values())
    assert {each.lesson for each in kept} == {"forum"}
    assert {each.is_right for each in kept} == {bool(right)}
    assert {each.choice is None for each in kept} == {right is None}


def test_answer_to_a_foreign_question_is_not_kept(tmp_path: Path) -> None:
    lesson = lesson_named("forum", None)
    trace = run_lesson(lesson).trace
    guide = Guide(lesson, trace, kept=KeptAnswers(tmp_path / "ada.json"))
    session = Session(trace, 0, guide=guide)
    other = next(asked for step in range(len(trace)) if (asked := question_at(trace, step)) and step not in guide.asked)
    answered(session, other, other.right)
    assert not (tmp_path / "ada.json").exists()


def test_no_file_keeps_no_answers() -> None:
    lesson = lesson_named("forum", None)
    assert Guide(lesson, run_lesson(lesson).trace).answers is None


def test_a_lesson_that_cannot_keep_answers_does_not_begin(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine\n")
    ended = dispatchviz("lesson", "forum", "--answers", tmp_path / "notes.txt")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"dispatchviz: {tmp_path / 'notes.txt'} is not a file of answers")
    assert (tmp_path / "notes.txt").read_text() == "mine\n"


# -- the summary ------------------------------------------------------------------------------------------------------


def summed(*paths: Path, width: int = 60) -> list[str]:
    return list(result_lines(paths, Console(width, colors=False)))


def test_the_summary_of_a_class(tmp_path: Path) -> None:
    write(tmp_path, "ada", answer("AutogradCUDA"), answer("no", "z's Node", right="yes"))
    write(tmp_path, "emmy", answer("CUDA"), answer("yes", "z's Node", right="yes"))
    write(tmp_path, "grace", answer("CUDA"), answer(None, "z's Node", right="yes"))
    write(tmp_path, "sofia", answer("AutogradCUDA"), answer("AutogradCUDA", lesson="views"))
    (tmp_path / "idle.json").write_bytes(b'{"format": "dispatchviz answers", "answers": []}')
    assert (
        "\n".join(summed(tmp_path))
        == """\
five learners, three questions, 4 of eight answers right

forum

  which key wins? (call add)
    ✓ AutogradCUDA  ███████████████ 2
    ✗ CUDA          ███████████████ 2

  which key wins? (z's Node)
    ✓ yes      ██████████ 1
    ✗ no       ██████████ 1
    - skipped  ██████████ 1

views

  which key wins? (call add)
    ✓ AutogradCUDA  ██████████████████████████████ 1

Learners
  ada    1 of 2  █░
  emmy   1 of 2  █░
  grace  0 of 2  ░░
  idle   0 of 0
  sofia  2 of 2  ██"""
    )


def test_learners_with_equal_file_names_show_their_folders(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "learner-01", answer("CUDA"))
    lines = summed(tmp_path / "monday", tmp_path / "tuesday", tmp_path / "monday" / "learner-01.json", width=120)
    assert lines[0].startswith("two learners, one question, 0 of two answers right")
    assert [line.split()[0] for line in lines[-2:]] == ["monday/learner-01", "tuesday/learner-01"]


def test_changed_question_counts_separately(tmp_path: Path) -> None:
    write(tmp_path, "ada", answer("CUDA", right="CUDA"))
    write(tmp_path, "emmy", answer("CUDA"))
    assert summed(tmp_path)[0].startswith("two learners, two questions, 1 of two")


def test_texts_of_a_file_contain_no_escape_sequences(tmp_path: Path) -> None:
    write(tmp_path, "ada", answer("\x1b]0;title\x07\n\n\x1b[2J" + "x" * 200, stop="a\nb"))
    ended = dispatchviz("lesson", "results", tmp_path)
    assert ended.status == 0
    assert "\x1b" not in ended.out
    assert all(len(line) <= 120 for line in ended.out.splitlines())


@pytest.mark.parametrize(
    ("name", "said"), [("notes.json", "is not a file of answers"), ("missing.json", "cannot read")]
)
def test_a_misshapen_file_is_one_error(name: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, "ada", answer("CUDA"))
    (tmp_path / "notes.json").write_text("notes")
    ended = dispatchviz("lesson", "results", tmp_path / "ada.json", tmp_path / name)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_folder_without_answers(tmp_path: Path) -> None:
    ended = dispatchviz("lesson", "results", tmp_path)
    assert ended.status == 2
    assert ended.err == f"dispatchviz: there are no answers in {tmp_path}: it has no .json file\n"


# -- the page ---------------------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "classroom.md"

CHOICES = {"ada": (1, 2), "emmy": (1, 0), "grace": (4, 0), "sofia": (4, None)}
"""The choices of four learners in the first two questions of the founding lesson, by number."""


def test_documented_summary_is_printed(tmp_path: Path) -> None:
    lesson = lesson_named("forum", None)
    trace = run_lesson(lesson).trace
    for name, numbers in CHOICES.items():
        guide = Guide(lesson, trace, kept=KeptAnswers(tmp_path / f"{name}.json"))
        session = Session(trace, 0, guide=guide)
        for step, number in zip(guide.asked, numbers, strict=False):
            asked = question_at(trace, step)
            assert asked is not None
            answered(session, asked, None if number is None else asked.choices[number])
    said = "\n".join(summed(tmp_path, width=100))
    assert f"```text\n{said}\n```" in PAGE.read_text("utf-8")
    assert "four learners, two questions, 3 of eight answers right" in said
