"""The reader's guesses, stored in a file beside the trace: ``forum.jsonl.gz.guesses.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.views.cursor.kept_texts import KeptTexts

LONGEST = 10_000
"""The maximum number of guesses to read from a file."""


class Guesses:
    """The guesses about one trace. Without a trace file, they last as long as the stepper."""

    def __init__(self, file: str = "", own: Mapping[int, Prediction] | None = None) -> None:
        """``own`` has the questions of a lesson by the steps that answer them."""
        self._own = own or {}
        self._kept = KeptTexts(file, "guesses")
        self._said: dict[int, Choice] = {}

    def read(self, trace: Trace) -> None:
        """Add the guesses of earlier sessions."""
        kept = islice(self._kept.read().items(), LONGEST)
        read = {step: choice for step, text in kept if (choice := _choice(trace, step, text)) is not None}
        self._said = read | self._said

    def __len__(self) -> int:
        return len(self._said)

    def __contains__(self, step: int) -> bool:
        return step in self._said

    def of(self, trace: Trace) -> Iterator[tuple[Prediction, Choice]]:
        """Yield each answered question with the choice, in the order of the steps."""
        return (guess for step in sorted(self._said) if (guess := self.at(trace, step)) is not None)

    def at(self, trace: Trace, step: int) -> tuple[Prediction, Choice] | None:
        """The question that a step answers, with the choice; None without a guess."""
        choice = self._said.get(step)
        asked = None if choice is None else self._own.get(step) or question_at(trace, step)
        return None if asked is None or choice is None else (asked, choice)

    def score(self, trace: Trace) -> str:
        """``4 of 6 right``; empty if nothing was guessed."""
        if not len(self):
            return ""
        return f"{sum(choice == asked.right for asked, choice in self.of(trace))} of {len(self)} right"

    def add(self, asked: Prediction, choice: Choice) -> str:
        """Store a guess. Return an error text if it cannot be written."""
        self._said[asked.reveals] = choice
        return self._kept.change({asked.reveals: choice.text})

    def forget(self) -> str:
        """Delete all guesses. Return an error text if that fails."""
        forgotten = dict.fromkeys(self._said)
        self._said.clear()
        return self._kept.change(forgotten)


def question_at(trace: Trace, step: int) -> Prediction | None:
    """The question that a step answers; None if there is none."""
    from dispatchviz.explain.predictions.trace_predictions import prediction_at  # not needed for the first paint

    return prediction_at(trace, step)


def _choice(trace: Trace, step: int, text: str) -> Choice | None:
    """The stored choice for a step; None if it does not fit the trace."""
    asked = question_at(trace, step) if step < len(trace) else None
    return None if asked is None else asked.chosen(text)
