"""The questions that a lesson names, each asked before the step that answers it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.views.predictions.asking import Asking

if TYPE_CHECKING:
    from dispatchviz.lessons.answers import LessonAnswers  # not needed for the first paint


class LessonAsking(Asking):
    """Predict mode within a lesson: it asks only the lesson's questions until the reader switches predict mode on."""

    def __init__(self, questions: Mapping[int, Prediction], answers: LessonAnswers | None = None) -> None:
        """``questions`` are those of the lesson, by the steps that answer them. ``answers`` stores the answers; with
        None, they last as long as the stepper.
        """
        super().__init__(own=questions)
        self._questions = questions
        self._steps = sorted(questions)
        self._answers = answers
        self._everywhere = False
        self.on = bool(self._steps)

    def start(self, trace: Trace) -> None:
        """Start asking at all steps."""
        self._everywhere = True
        super().start(trace)

    def ahead(self, trace: Trace, at: int) -> Prediction | None:
        return self._first_of(self._next(at, len(trace)), super().ahead(trace, at) if self._everywhere else None)

    def on_the_way(self, trace: Trace, at: int, to: int) -> Prediction | None:
        return self._first_of(self._next(at, to), super().on_the_way(trace, at, to) if self._everywhere else None)

    def answer(self, asked: Prediction, choice: Choice | None) -> str:
        problem = super().answer(asked, choice)
        return problem if self._answers is None else self._answers.add(asked, choice) or problem

    def _is_open(self, asked: Prediction) -> bool:
        """Return whether a question is open. A lesson asks all of its questions, even on understood topics."""
        return super()._is_open(asked) if self._everywhere else self._is_unanswered(asked)

    def _next(self, at: int, to: int) -> Prediction | None:
        """The lesson's first open question after a step, up to another one; None if the reader ended predict mode."""
        if not self.on:
            return None
        behind = self._steps[bisect_right(self._steps, at) :]
        asked = (self._questions[step] for step in behind)
        found = next((each for each in asked if self._is_unanswered(each)), None)
        return found if found is not None and found.first_hidden <= to else None

    def _is_unanswered(self, asked: Prediction) -> bool:
        return asked.reveals not in self.guesses and asked.reveals not in self._passed_by

    def _first_of(self, own: Prediction | None, other: Prediction | None) -> Prediction | None:
        """The earlier one of the lesson's own question and another one."""
        if own is None or other is None:
            return own or other
        return own if own.first_hidden <= other.first_hidden else other
