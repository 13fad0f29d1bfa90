"""The questions that a lesson's file asks itself, with the right answers that the program gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Kind, Prediction
from dispatchviz.explain.predictions.typed_answers import normal
from dispatchviz.foundation.shipped_examples import script_of
from dispatchviz.lessons.asked.evaluation import Result, values
from dispatchviz.lessons.asked.expression import ExpressionError
from dispatchviz.lessons.asked.line_visits import Place, place_of
from dispatchviz.lessons.asked.question_text import QuestionError, WrittenChoice, WrittenQuestion
from dispatchviz.lessons.asked.shown_numbers import first_shown
from dispatchviz.lessons.asked.shown_values import NO, YES, selected
from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.passages import Passage
from dispatchviz.lessons.stop_steps import UnknownStopError
from dispatchviz.lessons.stops import step_named
from dispatchviz.running.engines import MODEL, Engine

Asked = dict[int, Prediction | QuestionError]
"""The question of each passage that asks one, or its problem, by the first line of the passage."""


def own_questions(lesson: Lesson, trace: Trace, engine: Engine = MODEL) -> Asked:
    """Return the lesson's own questions. A stop that does not happen has none: ``step_named`` reports it."""
    asked: Asked = {}
    found: list[tuple[Passage, WrittenQuestion, int, Place, int]] = []
    for passage, question, step, before in _written(lesson, trace):
        place = place_of(trace, step, lesson.program)
        if not step:
            why = "the first step shows no answer, because nothing is before it; choose a later stop"
            asked[passage.line] = QuestionError(question.line, why)
        elif place is None:
            why = f"no line of the program has the step of {passage.stop!r}; choose a stop within a line"
            asked[passage.line] = QuestionError(question.line, why)
        else:
            found.append((passage, question, step, place, before))
    wanted = [(question.answer, place) for _, question, _, place, _ in found]
    results = values(script_of(lesson.path), lesson.program, trace, wanted, engine)
    for (passage, question, step, place, before), result in zip(found, results, strict=True):
        made = _prediction(question, step, place, result)
        if isinstance(made, Prediction) and isinstance(result, str):
            seen = first_shown(trace, result, range(max(place.first, before) + 1, step))
            made = replace(made, shown_from=seen)
        asked[passage.line] = made
    return asked


def _written(lesson: Lesson, trace: Trace) -> Iterator[tuple[Passage, WrittenQuestion, int, int]]:
    """Yield the questions with their steps, and the latest step that the lesson has shown before."""
    before = 0
    for passage in lesson.stops:
        try:
            step = step_named(trace, passage.stop)
        except UnknownStopError:
            continue
        if passage.question is not None:
            yield passage, passage.question, step, before
        before = max(before, step)


def _prediction(question: WrittenQuestion, step: int, place: Place, result: Result) -> Prediction | QuestionError:
    if isinstance(result, ExpressionError):
        return QuestionError(question.answer_line, str(result))
    written = question.choices or ([WrittenChoice(YES), WrittenChoice(NO)] if result in (YES, NO) else [])
    right = _right(question, [choice.text for choice in written], result, place)
    if isinstance(right, QuestionError):
        return right
    choices = tuple(Choice(choice.text, choice.reply) for choice in written)
    answer = Choice(result, question.because) if right is None else _because(choices[right], question.because)
    if right is not None:
        choices = (*choices[:right], answer, *choices[right + 1 :])
    return Prediction(Kind.OWN, question.text, (), choices, answer, step, (Kind.OWN, question.line))


def _because(choice: Choice, because: str) -> Choice:
    return Choice(choice.text, " ".join(filter(None, (choice.why, because))))


def _right(question: WrittenQuestion, texts: Sequence[str], value: str, place: Place) -> int | QuestionError | None:
    """Return the position of the choice that the value selects; None if learners type the value."""
    line, said = question.answer_line, f"{question.answer!r} is {value} {place.text}"
    if not texts:
        if question.stated and normal(question.stated) != normal(value):
            return QuestionError(line, f"{said}, but the lesson states {question.stated}")
        return None
    found = selected(texts, value)
    if len(found) != 1:
        several = "none" if not found else "more than one"
        return QuestionError(line, f"{said}, which selects {several} of the choices: {'; '.join(texts)}. {_HOW}")
    if question.stated and found != (stated := selected(texts, question.stated)):
        other = f"states {question.stated}" + ("" if stated else ", which is no choice")
        return QuestionError(line, f"{said}, which selects {texts[found[0]]!r}, but the lesson {other}")
    return found[0]


_HOW = (
    "The value must be the text of one choice, or its text before a colon or comma. True selects yes, False selects "
    'no. Or choose in the expression: "shared" if a is b else "copied"'
)
