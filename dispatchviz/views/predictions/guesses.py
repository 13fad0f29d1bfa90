"""What a reader has guessed, kept in a file beside the trace: ``forum.jsonl.gz.guesses.json``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.views.cursor.kept_texts import KeptTexts

LONGEST = 10_000
"""So many guesses of a file are read."""


class Guesses:
    """The guesses about one trace; without a file of the trace they last as long as the stepper."""

    def __init__(self, file: str = "") -> None:
        self._kept = KeptTexts(file, "guesses")
        self._said: dict[int, Choice] = {}

    def read(self, trace: Trace) -> None:
        """Add what was guessed another time."""
        kept = islice(self._kept.read().items(), LONGEST)
        read = {step: choice for step, text in kept if (choice := _choice(trace, step, text)) is not None}
        self._said = read | self._said

    def __len__(self) -> int:
        return len(self._said)

    def __contains__(self, step: int) -> bool:
        return step in self._said

    def of(self, trace: Trace) -> Iterator[tuple[Prediction, Choice]]:
        """Each question that was answered, with the choice, in the order of the steps."""
        return (guess for step in sorted(self._said) if (guess := self.at(trace, step)) is not None)

    def at(self, trace: Trace, step: int) -> tuple[Prediction, Choice] | None:
        """The question that a step answers, with what was chosen; None if nothing was."""
        asked, choice = question_at(trace, step) if step in self._said else None, self._said.get(step)
        return None if asked is None or choice is None else (asked, choice)

    def score(self, trace: Trace) -> str:
        """``4 of 6 right``; empty if nothing was guessed."""
        if not len(self):
            return ""
        return f"{sum(choice == asked.right for asked, choice in self.of(trace))} of {len(self)} right"

    def add(self, asked: Prediction, choice: Choice) -> str:
        """Keep a guess; return what is wrong if it cannot be written."""
        self._said[asked.reveals] = choice
        return self._kept.change({asked.reveals: choice.text})

    def forget(self) -> str:
        """Keep none any more; as ``add``."""
        forgotten = dict.fromkeys(self._said)
        self._said.clear()
        return self._kept.change(forgotten)


def question_at(trace: Trace, step: int) -> Prediction | None:
    """The question that a step answers."""
    from dispatchviz.explain.predictions.trace_predictions import prediction_at  # not for the first paint

    return prediction_at(trace, step)


def _choice(trace: Trace, step: int, text: str) -> Choice | None:
    """The choice that was kept for a step; None if it does not fit the trace."""
    asked = question_at(trace, step) if step < len(trace) else None
    return None if asked is None else asked.chosen(text)
