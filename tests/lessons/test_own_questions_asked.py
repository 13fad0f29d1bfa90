"""A lesson's own questions as learners meet them: in the stepper, in a page, on a hand-out, in their answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from dispatchviz.cli.lesson_check import run_lesson
from dispatchviz.cli.lesson_texts import hand_out
from dispatchviz.lessons.answers import KeptAnswers, read_answers
from dispatchviz.lessons.guide import Guide
from dispatchviz.tui.commands.predicting import masked
from dispatchviz.tui.screens.prediction_screen import PredictionScreen
from dispatchviz.views.session import Session
from tests.lessons.own_lesson import QUESTIONS, guide, written
from tests.tui.screens import stepper_of


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Guide:
    return guide(written(tmp_path_factory.mktemp("own"), QUESTIONS))


def session(of: Guide) -> Session:
    found = Session(of.trace, of.place.step, guide=of)
    found.cursor = masked(found, found.cursor)
    return found


@pytest.fixture
def fresh(own: Guide) -> Guide:
    own.at = 0
    return own


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_stepper_asks_and_replies(size: tuple[int, int], fresh: Guide) -> None:
    async with stepper_of(session(fresh), size) as reader:
        await reader.press("c")
        assert reader.sees(
            "Does z.grad have a gradient after this line?", "1  yes: backward computes it", "2  no: only"
        )
        await reader.press("1", "enter")
        screen = " ".join(" ".join(reader.screen).split())
        assert "✗ Your guess: yes: backward computes it. Backward frees it again. The answer: no: only leaves" in screen
        assert "z is the result of an operator." in screen
        assert reader.sees("Ask z.is_leaf.", "predict: 0 of 1 right")
        assert reader.at == next(iter(fresh.questions))


async def test_stepper_checks_a_typed_answer(fresh: Guide) -> None:
    async with stepper_of(session(fresh)) as reader:
        await reader.press("c", "2", "c")
        assert reader.sees("What is x.grad now?", "Predict (type the answer, Enter checks it; Esc skips)")
        await reader.press("enter")
        assert isinstance(reader.app.screen, PredictionScreen), "nothing is typed yet"
        await reader.press("left_square_bracket", "7", "comma", "space", "7", "p", "backspace", "right_square_bracket")
        assert reader.sees("> [7, 7]")
        await reader.press("enter")
        assert reader.sees("✓ Right: [7, 7].", "predict: 2 of 2 right")


@pytest.mark.parametrize(("keys", "said"), [(["9", "enter"], "✗ Your guess: 9. The answer: [7, 7]."),
                                            (["q", "escape"], "The answer: [7, 7].")])  # fmt: skip
async def test_wrong_typed_answer_and_a_skip_show_the_right_one(keys: list[str], said: str, fresh: Guide) -> None:
    async with stepper_of(session(fresh)) as reader:
        await reader.press("c", "2", "c", *keys)
        assert reader.sees(said)


def test_answers_are_kept(own: Guide, tmp_path: Path) -> None:
    kept = Guide(own.lesson, own.trace, kept=KeptAnswers(tmp_path / "ada.json"))
    assert kept.answers is not None
    for asked, text in zip(kept.questions.values(), ("yes: backward computes it", "[7.0, 7]", "no"), strict=True):
        kept.answers.add(asked, asked.chosen(text))
    answers = read_answers(tmp_path / "ada.json")
    assert [(each.choice, each.is_right) for each in answers] == [
        ("yes: backward computes it", False),
        ("[7, 7]", True),
        ("no", True),
    ]
    assert answers[1].question == "What is `x.grad` now?"


def test_hand_out_has_questions_first_and_answers_last(fresh: Guide) -> None:
    text = "\n".join(hand_out(fresh, fresh.trace, paper=True))
    questions, _, answers = text.partition("## Answers")
    assert "**Question 1, line 14.** Does `z.grad` have a gradient after this line?" in questions
    assert "1. ☐ yes: backward computes it\n2. ☐ no: only leaves keep theirs" in questions
    assert "**Question 2, line 15.** What is `x.grad` now?\n\nAnswer: …" in questions
    for answer in ("`z` is the result of an operator.", "[7, 7]", "Ask `z.is_leaf`.", "Backward frees it again"):
        assert answer not in questions
    assert "**1. no: only leaves keep theirs.** `z` is the result of an operator." in answers
    assert "**2. [7, 7].**" in answers
    assert "<code>z.grad</code> have a gradient" in MarkdownIt().render(text)


def test_hand_out_has_the_replies_if_there_is_no_reason(tmp_path: Path) -> None:
    lesson = written(tmp_path, QUESTIONS.replace("# because: `z` is the result of an operator.\n", ""))
    of = guide(lesson)
    questions, _, answers = "\n".join(hand_out(of, of.trace, paper=True)).partition("## Answers")
    assert "Backward frees it again" not in questions
    assert "**1. no: only leaves keep theirs.**\n\n- To 1: Backward frees it again.\n" in answers


def test_guide_runs_the_program_again_only_for_own_questions(own: Guide, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []
    monkeypatch.setattr("dispatchviz.lessons.asked.evaluation.run_again", lambda *args: runs.append(args[0]))
    lesson = written(own.lesson.path.parent, "# predict: call mm\n")
    assert len(Guide(lesson, run_lesson(lesson).trace).questions) == 1
    assert not runs
