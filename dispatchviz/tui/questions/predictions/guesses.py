"""What a reader has guessed, kept in a file beside the trace: ``forum.jsonl.gz.guesses.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction

LONGEST = 10_000
"""So many guesses of a file are read."""


class Guesses:
    """The guesses about one trace; without a file of the trace they last as long as the stepper."""

    def __init__(self, file: str = "") -> None:
        self._path = Path(f"{file}.guesses.json") if file else None
        self._said: dict[int, Choice] = {}

    def read(self, trace: Trace) -> None:
        """Adds what was guessed another time."""
        if self._path is not None:
            self._said = dict(_read(self._path, trace)) | self._said

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
        """Keeps a guess; returns what is wrong if it cannot be written."""
        self._said[asked.reveals] = choice
        return self._write()

    def forget(self) -> str:
        """Keeps none any more; as ``add``."""
        self._said.clear()
        return self._write()

    def _write(self) -> str:
        if self._path is None:
            return ""
        said = {str(step): choice.text for step, choice in sorted(self._said.items())}
        try:
            write_whole(self._path, f"{json.dumps({'guesses': said}, indent=2)}\n".encode())
        except OSError as error:
            return f"{self._path} cannot be written: {error.strerror or error}"
        return ""


def question_at(trace: Trace, step: int) -> Prediction | None:
    """The question that a step answers."""
    from dispatchviz.explain.predictions.trace_predictions import prediction_at  # not for the first paint

    return prediction_at(trace, step)


def _read(path: Path, trace: Trace) -> Iterator[tuple[int, Choice]]:
    """What is there and fits the trace; a file of somebody else's is left alone until the first guess."""
    try:
        found = list(json.loads(path.read_text(encoding="utf-8"))["guesses"].items())[:LONGEST]
        pairs = [(int(step), str(text)) for step, text in found]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return
    for step, text in pairs:
        asked = question_at(trace, step) if 0 <= step < len(trace) else None
        if asked is not None and (choice := asked.chosen(text)) is not None:
            yield step, choice
