"""The questions that a lesson names, each asked before the step that answers it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.views.predictions.asking import Asking
from dispatchviz.views.predictions.guesses import question_at

if TYPE_CHECKING:
    from dispatchviz.lessons.answers import LessonAnswers  # not needed for the first paint


class LessonAsking(Asking):
    """Predict mode within a lesson: it asks only the lesson's questions until the reader switches predict mode on."""

    def __init__(self, steps: Iterable[int], answers: LessonAnswers | None = None) -> None:
        """Ask at ``steps``. ``answers`` stores the answers; with None, they last as long as the stepper."""
        super().__init__()
        self._steps = sorted(steps)
        self._answers = answers
        self._everywhere = False
        self.on = bool(self._steps)

    def start(self, trace: Trace) -> None:
        """Start asking at all steps."""
        self._everywhere = True
        super().start(trace)

    def ahead(self, trace: Trace, at: int) -> Prediction | None:
        return super().ahead(trace, at) if self._everywhere else self._next(trace, at, len(trace))

    def on_the_way(self, trace: Trace, at: int, to: int) -> Prediction | None:
        return super().on_the_way(trace, at, to) if self._everywhere else self._next(trace, at, to)

    def answer(self, asked: Prediction, choice: Choice | None) -> str:
        problem = super().answer(asked, choice)
        return problem if self._answers is None else self._answers.add(asked, choice) or problem

    def _is_open(self, asked: Prediction) -> bool:
        """Return whether a question is open. A lesson asks all of its questions, even on understood topics."""
        if self._everywhere:
            return super()._is_open(asked)
        return asked.reveals not in self.guesses and asked.reveals not in self._passed_by

    def _next(self, trace: Trace, at: int, to: int) -> Prediction | None:
        """The first open question after a step, up to another one."""
        behind = self._steps[bisect_right(self._steps, at) :]
        asked = (question_at(trace, step) for step in behind if step <= to)
        return next((each for each in asked if each is not None and self._is_open(each)), None)
