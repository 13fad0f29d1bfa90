"""A lesson with the trace of its program: the step of each passage, and the reader's place.

A passage without a stop of its own belongs to the step of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.explain.predictions.trace_predictions import prediction_at
from dispatchviz.lessons.answers import KeptAnswers, LessonAnswers
from dispatchviz.lessons.asked.own_questions import Asked, own_questions
from dispatchviz.lessons.asked.question_text import QuestionError
from dispatchviz.lessons.catalog import word_of
from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.passages import Passage
from dispatchviz.lessons.problem import Problem, refusal
from dispatchviz.lessons.stop_steps import UnknownStopError
from dispatchviz.lessons.stops import step_named


class Place(Struct, frozen=True):
    """A passage and its step."""

    passage: Passage
    step: int
    question: Prediction | None = None
    """The question before the step; None if there is none."""

    @property
    def asks(self) -> bool:
        """True if the reader answers a question before the step."""
        return self.question is not None


class Guide:
    """The places of a lesson in the order of its file, and the reader's current one."""

    def __init__(self, lesson: Lesson, trace: Trace, after: str = "", kept: KeptAnswers | None = None) -> None:
        """``after`` is the next lesson, if any; ``kept`` keeps the answers, if given. Raise LessonError if a stop does
        not exist, or a question of the lesson has no right answer.
        """
        self.lesson = lesson
        self.trace = trace
        self.word = word_of(lesson)
        """The word that names the lesson in a command."""
        self.after = after
        self.places = tuple(_places(lesson, trace))
        self.at = 0
        self.answers = None if kept is None else LessonAnswers(kept, lesson.name, self.asked)

    @property
    def place(self) -> Place:
        """The reader's current place."""
        return self.places[self.at]

    @property
    def is_aside(self) -> bool:
        """True if the current passage is about no step, such as a request to change or write something."""
        return not self.place.passage.stop

    @property
    def asked(self) -> Mapping[int, str]:
        """The steps with a question, and the lesson's names for them."""
        return {place.step: place.passage.stop for place in self.places if place.asks}

    @property
    def questions(self) -> Mapping[int, Prediction]:
        """The questions by the steps that show their answers."""
        return {place.step: place.question for place in self.places if place.question is not None}

    def moved(self, forward: bool) -> Place | None:
        """Go to the next place, or back to the one before, and return it; None if there is none."""
        at = self.at + (1 if forward else -1)
        if not 0 <= at < len(self.places):
            return None
        self.at = at
        return self.place


def _places(lesson: Lesson, trace: Trace) -> Iterator[Place]:
    step, own = 0, own_questions(lesson, trace)
    problems = [*_without_step(lesson, trace), *(Problem(each.line, str(each)) for each in _errors(own))]
    if problems:
        raise refusal(lesson.path, problems)
    for passage in lesson.passages:
        step = step_named(trace, passage.stop) if passage.stop else step
        yield Place(passage, step, _question(passage, trace, step, own))


def _without_step(lesson: Lesson, trace: Trace) -> Iterator[Problem]:
    for passage in lesson.stops:
        try:
            step_named(trace, passage.stop)
        except UnknownStopError as error:
            yield Problem(passage.line, str(error))


def _errors(own: Asked) -> Iterator[QuestionError]:
    return (asked for asked in own.values() if isinstance(asked, QuestionError))


def _question(passage: Passage, trace: Trace, step: int, own: Asked) -> Prediction | None:
    if not passage.asks:
        return None
    asked = own.get(passage.line) if passage.question else prediction_at(trace, step)
    return asked if isinstance(asked, Prediction) else None
