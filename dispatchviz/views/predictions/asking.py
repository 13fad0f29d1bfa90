"""The next question, and the question that a move must not skip.

Rule 1: A question is asked once, and nothing is asked that the reader has understood. A topic is done when it was
answered right or skipped.
Rule 2: A move over many steps stops at questions about the program's own calls and about the engine. Questions about
calls that kernels make are asked only if the reader goes in there.
"""

from __future__ import annotations

from collections.abc import Mapping

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.views.predictions.guesses import Guesses

NEAR = 24
"""The number of steps to search for the next question at any level."""

FAR = 600
"""The number of steps to search for questions of the outer level. If all topics are done, a loop of thousands of
iterations has no other question.
"""

GOOD_FOR = 16
"""The number of steps after which the search for a question is repeated if none was found."""


Topic = tuple[object, ...]


class Asking:
    """The state of predict mode: whether questions are asked, and which are done."""

    def __init__(self, file: str = "", own: Mapping[int, Prediction] | None = None) -> None:
        """``own`` has the questions of a lesson by the steps that answer them."""
        self.on = False
        self.guesses = Guesses(file, own)
        self._skipped: set[Topic] = set()
        self._done: set[Topic] = set()
        self._passed_by: set[int] = set()
        """The steps of skipped questions."""
        self._found: tuple[range, Prediction | None] = range(0), None
        """The next question after each of a range of steps."""

    def start(self, trace: Trace) -> None:
        """Start asking questions."""
        self.on = True
        self._found = range(0), None
        self.guesses.read(trace)
        self._done = {asked.topic for asked, choice in self.guesses.of(trace) if choice == asked.right}

    def ahead(self, trace: Trace, at: int) -> Prediction | None:
        """The next question after a step; None if no questions are asked."""
        if not self.on:
            return None
        if at not in self._found[0]:
            found = self._first(trace, at, None, NEAR, False) or self._first(trace, at, None, FAR, True)
            self._found = range(at, at + GOOD_FOR if found is None else found.reveals), found
        return self._found[1]

    def on_the_way(self, trace: Trace, at: int, to: int) -> Prediction | None:
        """The first question whose answer a move would show."""
        if not self.on or to <= at:
            return None
        return self._first(trace, at, to, FAR, True)

    def answer(self, asked: Prediction, choice: Choice | None) -> str:
        """Store an answer, or a skip. Return an error text if it cannot be written."""
        self._found = range(0), None
        if choice is None:
            self._skipped.add(asked.topic)
            self._passed_by.add(asked.reveals)
            return ""
        self._passed_by.discard(asked.reveals)
        problem = self.guesses.add(asked, choice)
        if choice == asked.right:
            self._done.add(asked.topic)
        return problem

    def score(self, trace: Trace) -> str:
        """``4 of 6 right, 1 skipped``; empty if nothing was asked."""
        skipped = f"{len(self._passed_by)} skipped" if self._passed_by else ""
        return ", ".join(filter(None, (self.guesses.score(trace), skipped)))

    def forget(self) -> str:
        """Delete all answers, so that all questions are open again. Return an error text if that fails."""
        self._done.clear()
        self._skipped.clear()
        self._passed_by.clear()
        self._found = range(0), None
        return self.guesses.forget()

    def _first(self, trace: Trace, at: int, to: int | None, most: int, outer: bool) -> Prediction | None:
        from dispatchviz.explain.predictions.trace_predictions import predictions_after  # not for the first paint

        return next(filter(self._is_open, predictions_after(trace, at, to, most, outer)), None)

    def _is_open(self, asked: Prediction) -> bool:
        return asked.reveals not in self.guesses and asked.topic not in self._done | self._skipped
