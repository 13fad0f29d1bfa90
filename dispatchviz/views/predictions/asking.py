"""Which question comes next, and which one a move must not pass by.

Rule 1: a question is asked once, and what was understood is not asked again: a topic that was answered right, or
skipped, is done.
Rule 2: a move over many steps stops for what the program itself calls, and for the engine; what kernels call is asked
of readers who go in there.
"""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.views.predictions.guesses import Guesses

NEAR = 24
"""So many steps that may have a question are looked at for the next one, whoever makes the call."""

FAR = 600
"""The same for questions of the outer level: where all topics are done, a loop of thousands of iterations has no
other.
"""

GOOD_FOR = 16
"""That there is none within reach is looked up again after so many steps."""


Topic = tuple[object, ...]


class Asking:
    """Whether questions are asked, and which are done."""

    def __init__(self, file: str = "") -> None:
        self.on = False
        self.guesses = Guesses(file)
        self._skipped: set[Topic] = set()
        self._done: set[Topic] = set()
        self._passed_by: set[int] = set()
        """Steps of questions that were not answered."""
        self._found: tuple[range, Prediction | None] = range(0), None
        """The question that comes next behind each of some steps."""

    def start(self, trace: Trace) -> None:
        """From now on questions are asked."""
        self.on = True
        self._found = range(0), None
        self.guesses.read(trace)
        self._done = {asked.topic for asked, choice in self.guesses.of(trace) if choice == asked.right}

    def ahead(self, trace: Trace, at: int) -> Prediction | None:
        """The question whose answer comes next behind a step; None while none are asked."""
        if not self.on:
            return None
        if at not in self._found[0]:
            found = self._first(trace, at, None, NEAR, False) or self._first(trace, at, None, FAR, True)
            self._found = range(at, at + GOOD_FOR if found is None else found.reveals), found
        return self._found[1]

    def on_the_way(self, trace: Trace, at: int, to: int) -> Prediction | None:
        """The first question that a move would answer."""
        if not self.on or to <= at:
            return None
        return self._first(trace, at, to, FAR, True)

    def answer(self, asked: Prediction, choice: Choice | None) -> str:
        """Keep an answer, or that there was none; return what is wrong if it cannot be written."""
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
        """All questions are open again; as ``answer``."""
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
