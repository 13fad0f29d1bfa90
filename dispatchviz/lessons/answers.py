"""The answers of learners in lessons, kept in one small file for each learner.

    {"format": "dispatchviz answers", "answers": [
      {"lesson": "forum", "stop": "call add", "question": "Which key wins ...?",
       "choice": "CUDA", "right": "AutogradCUDA"}
    ]}

The first answer counts: taking a lesson again changes nothing in the file. A skipped question has no ``choice``. A file
with any other content is never overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from dispatchviz.core.record.file_replacement import check_writable, write_whole
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.foundation.errors import DispatchvizError

FORMAT: Literal["dispatchviz answers"] = "dispatchviz answers"

LARGEST = 1 << 22
"""The most bytes of a file of answers; a larger file is refused."""


class AnswersError(DispatchvizError):
    """A file that has no answers, or cannot be read or written."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The answer of one learner to one question of a lesson."""

    lesson: str
    """The name of the lesson."""
    stop: str
    """The lesson's name for the step that answers the question."""
    question: str
    choice: str | None = None
    """The text of the chosen answer; None if the learner skipped the question."""
    right: str
    """The text of the right answer."""

    @property
    def is_right(self) -> bool:
        """True if the answer is right."""
        return self.choice == self.right


class Answers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of answers."""

    format: Literal["dispatchviz answers"]
    answers: tuple[Answer, ...]


def read_answers(path: Path) -> tuple[Answer, ...]:
    """Read the answers in a file. Raise AnswersError if it has none."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise AnswersError(f"cannot read {path}: {error.strerror or error}") from None
    return _decoded(content, path)


def _decoded(content: bytes, path: Path) -> tuple[Answer, ...]:
    try:
        if len(content) > LARGEST:
            raise ValueError(f"it is larger than {LARGEST >> 20} MB")
        return msgspec.json.decode(content, type=Answers).answers
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise AnswersError(
            f"{path} is not a file of answers ({error}); dispatchviz lesson NAME --answers FILE writes one"
        ) from None


class KeptAnswers:
    """The file of one learner."""

    def __init__(self, path: Path) -> None:
        """Raise AnswersError if the file has other content or cannot be written."""
        self._path = path
        try:
            self._read()
            check_writable(path)
        except OSError as error:
            raise AnswersError(f"cannot write {path}: {error.strerror or error}") from None

    def add(self, answer: Answer) -> str:
        """Keep an answer unless its question has one already. Return the error if it cannot be written, else an empty
        text.
        """
        try:
            kept = self._read()
            if not any((each.lesson, each.stop) == (answer.lesson, answer.stop) for each in kept):
                encoded = msgspec.json.encode(Answers(format=FORMAT, answers=(*kept, answer)))
                write_whole(self._path, msgspec.json.format(encoded, indent=1) + b"\n")
        except OSError as error:
            return f"{self._path} cannot be written: {error.strerror or error}"
        except AnswersError as error:
            return str(error)
        return ""

    def _read(self) -> tuple[Answer, ...]:
        """Return the answers that the file has now. Raise AnswersError if it has other content."""
        if not self._path.exists():
            return ()
        if not (self._path.is_file() or self._path.is_dir()):  # reading a pipe would wait for a writer
            raise AnswersError(f"{self._path} is not a file: answers cannot be kept there")
        return read_answers(self._path)


class LessonAnswers:
    """A keeper of the answers to the questions of one lesson."""

    def __init__(self, kept: KeptAnswers, lesson: str, stops: Mapping[int, str]) -> None:
        """``stops`` has the names of the steps that answer a question."""
        self._kept, self._lesson, self._stops = kept, lesson, stops

    def add(self, asked: Prediction, choice: Choice | None) -> str:
        """Keep an answer if the question belongs to the lesson; return as ``KeptAnswers.add``."""
        stop = self._stops.get(asked.reveals)
        if stop is None:
            return ""
        return self._kept.add(
            Answer(
                lesson=self._lesson,
                stop=stop,
                question=asked.question,
                choice=None if choice is None else choice.text,
                right=asked.right.text,
            )
        )
