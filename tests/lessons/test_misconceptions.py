"""The shipped lessons about misconceptions: their answers and facts hold on the model and on PyTorch, and each has the
belief, the step that contradicts it, and what is true instead.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli.lesson_check import checked
from dispatchviz.cli.lesson_texts import listed
from dispatchviz.cli.other_meanings import with_meaning
from dispatchviz.foundation import shipped_examples
from dispatchviz.foundation.shipped_examples import examples, is_lesson
from dispatchviz.lessons.catalog import lesson_after, lesson_named, misconceptions, shipped_lessons
from dispatchviz.lessons.lesson_file import read_lesson
from tests.amounts import some
from tests.lessons.test_lessons import played, session

FILES = misconceptions()
EACH = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@EACH
def test_misconception_holds_on_the_model(path: Path) -> None:
    lines, holds = checked(path)
    assert holds, lines


@pytest.mark.torch
@pytest.mark.parametrize("path", some(FILES, 7), ids=lambda path: path.stem)
def test_misconception_holds_on_pytorch(path: Path) -> None:
    lines, holds = checked(path, "torch")
    assert holds, lines


@pytest.mark.torch
@EACH
def test_facts_of_a_misconception_are_pytorchs(path: Path) -> None:
    names: dict[str, object] = {}
    exec(compile(read_lesson(path).assertions, str(path), "exec"), names)
    facts = names["facts"]
    assert callable(facts)
    facts()


@EACH
def test_misconception_has_a_belief_a_step_and_the_truth(path: Path) -> None:
    lesson = read_lesson(path)
    about, asked, *others = lesson.passages
    question = asked.question
    assert question is not None
    assert about.text
    assert question.stated, "the answers of both engines are compared with it"
    assert question.because
    assert [each.text for each in question.choices if each.reply], "the belief has a reply"
    assert sum(bool(each.reply) for each in question.choices) == 1
    assert not asked.stop.startswith("`") or others, "a line is not the step that contradicts the belief"
    assert all(each.stop and not each.asks for each in others)
    assert (others[-1] if others else asked).text
    assert len(lesson.program.split()) < 60, "the program is short"


@EACH
def test_belief_is_not_the_answer(path: Path) -> None:
    guide = session(path).guide
    assert guide is not None
    [asked] = guide.questions.values()
    question = guide.places[1].passage.question
    assert question is not None
    [belief] = [each.text for each in question.choices if each.reply]
    assert asked.right.text != belief


@pytest.mark.parametrize("right", [True, False])
@EACH
def test_misconception_is_played_to_its_end(path: Path, right: bool) -> None:
    asked, texts = played(session(path), right)
    assert len(asked) == 1
    assert len(texts) == len(read_lesson(path).passages)


def test_each_is_listed_once_with_its_title() -> None:
    folder = shipped_examples.folder() / shipped_examples.MISCONCEPTIONS
    assert sorted(FILES) == sorted(folder.glob("*.py"))
    assert len(FILES) == 20, "docs/index.md says so"
    titles = {example.path: example.shows for example in examples() if example.path in FILES}
    assert titles == {path: read_lesson(path).title for path in FILES}
    assert all(title.endswith("?") for title in titles.values())


def test_list_of_lessons_has_them_as_a_group() -> None:
    lines = listed(None)
    begin = lines.index("One misconception each:")
    assert (lines[begin - 1], len(lines[begin + 1 :])) == ("", len(FILES))
    number = len(shipped_lessons()) + 1
    assert lines[begin + 1].split()[:2] == [str(number), FILES[0].stem]
    assert lesson_named(str(number), None).path == FILES[0]


def test_each_leads_to_the_next_one() -> None:
    lessons = [lesson_named(path.stem, None) for path in FILES]
    assert [lesson_after(lesson) for lesson in lessons] == [*(path.stem for path in FILES[1:]), ""]
    assert lesson_after(read_lesson(shipped_lessons()[-1])) == ""


def test_other_commands_know_the_name() -> None:
    assert is_lesson(Path("examples/misconceptions/loss_sum.py"))
    assert with_meaning("there is no x", "loss_sum").endswith("loss_sum is a lesson: dispatchviz lesson loss_sum")
