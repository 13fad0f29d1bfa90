"""The prose of a lesson, split into passages at headings and directives."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.lessons.asked.question_text import (
    ANSWER,
    ASK,
    BECAUSE,
    PARTS,
    QuestionError,
    QuestionReader,
    WrittenQuestion,
)

PHASES = ("Predict", "Run", "Investigate", "Modify", "Make")
"""The phases of Sentance and Waite's PRIMM."""

STOP, PREDICT, RAISES = "stop", "predict", "raises"
DIRECTIVES = (STOP, PREDICT, RAISES, *PARTS)

MEANT = {
    **dict.fromkeys(("question", "quiz", "choice", "choices", "option", "options"), ASK),
    **dict.fromkeys(("solution", "right", "correct", "expect", "expected", "result", "value"), ANSWER),
    **dict.fromkeys(("why", "reason", "explanation", "since"), BECAUSE),
    **dict.fromkeys(("look", "at", "place", "step", "see"), STOP),
    **dict.fromkeys(("guess", "prediction"), PREDICT),
    **dict.fromkeys(("error", "exception", "throws", "fails"), RAISES),
}
"""Words that a teacher may write, and the directives for them."""

_DIRECTIVE = re.compile(rf"({'|'.join(DIRECTIVES)}):\s*(.*\S)\s*")
_LIKE_A_DIRECTIVE = re.compile(r"(\w+)\s*:.*")
_HEADING = re.compile(r"(#+)\s+(.*\S)\s*")


class LessonError(DispatchvizError):
    """A file that is not a lesson, with the line where that shows."""


@dataclass(frozen=True)
class Passage:
    """A piece of prose, and the step that it is about, if any."""

    phase: str
    """One of ``PHASES``; empty before the first."""
    text: str
    """The prose in Markdown, without comment marks."""
    stop: str = ""
    """The name of the step; empty if it is about none."""
    asks: bool = False
    """True if the reader predicts the step's outcome before it is shown, or answers the question of the lesson."""
    line: int = 0
    """The first line of the passage in the file, counted from 1."""
    question: WrittenQuestion | None = None
    """The lesson's own question about the step; None if dispatchviz asks its question, or if there is none."""


Comments = dict[int, str]
"""Comments by line number, without the mark."""

Found = tuple[Passage | None, str, str]
"""A passage or None; the title, if found here; the error that ends the program, if found here."""


def passages_of(comments: Comments, path: Path) -> Iterator[Found]:
    """Yield the prose in order. Raise LessonError, with file and line, for a phase or a question with a wrong form."""
    reader = _Reader(path)
    for first, block in _blocks(comments):
        reader.begin(first)
        for number, line in enumerate(block, first):
            yield from reader.line(number, line)
        yield from reader.passage()


def _blocks(comments: Comments) -> Iterator[tuple[int, list[str]]]:
    """Yield comments of adjacent lines, with the number of the first line."""
    for first in (number for number in comments if number - 1 not in comments):
        last = next(number for number in count(first) if number not in comments)
        yield first, [comments[number] for number in range(first, last)]


class _Reader:
    """A reader of prose, line by line. It has the parts of the passage that has begun."""

    def __init__(self, path: Path) -> None:
        self._path, self._phase = path, ""
        self.begin(0)

    def begin(self, line: int, stop: str = "", asks: bool = False) -> None:
        """Begin a passage."""
        self._line, self._stop, self._asks = line, stop, asks
        self._text: list[str] = []
        self._question: QuestionReader | None = None

    def line(self, number: int, line: str) -> Iterator[Found]:
        """Read a line; yield what it ends, or what it says itself."""
        heading, directive = _HEADING.fullmatch(line), _DIRECTIVE.fullmatch(line)
        if directive is not None and directive[1] in PARTS:
            self._asking(number, directive[1], directive[2])
        elif heading is None and directive is None:
            if not self._is_questions(number, line):
                self._text.append(line)
        else:
            yield from self.passage()
            self.begin(number)
            if heading is not None and len(heading[1]) == 1:
                yield None, heading[2], ""
            elif heading is not None:
                self._phase = _next_phase(self._phase, heading[2], self._where(number))
            elif directive is not None and directive[1] == RAISES:
                yield None, "", directive[2]
            elif directive is not None:
                self.begin(number, directive[2], asks=directive[1] == PREDICT)

    def passage(self) -> Iterator[Found]:
        """Yield the passage that has begun, unless it is empty."""
        prose = "\n".join(self._text).strip()
        question = self._written()
        if prose or self._stop:
            asks = self._asks or question is not None
            yield Passage(self._phase, prose, self._stop, asks, self._line, question), "", ""

    def _asking(self, number: int, name: str, value: str) -> None:
        if name == ASK:
            if not self._stop or self._asks or self._question or any(self._text):
                raise LessonError(f"{self._where(number)}: {_NEEDS_STOP}")
            self._question = QuestionReader(number, [value])
        elif self._question is None:
            raise LessonError(f"{self._where(number)}: {name}: belongs to a question; write # ask: before it")
        else:
            with self._errors():
                self._question.directive(number, name, value)

    def _is_questions(self, number: int, line: str) -> bool:
        with self._errors():
            return self._question is not None and self._question.takes(number, line)

    def _written(self) -> WrittenQuestion | None:
        with self._errors():
            return None if self._question is None else self._question.question()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except QuestionError as error:
            raise LessonError(f"{self._where(error.line)}: {error}") from None

    def _where(self, number: int) -> str:
        return f"{self._path}, line {number}"


_NEEDS_STOP = (
    "a question needs a stop of its own in the line above it, whose step shows the answer: # stop: `loss.backward()`"
)


def _next_phase(before: str, phase: str, where: str) -> str:
    if phase not in PHASES:
        raise LessonError(f"{where}: there is no phase {phase!r}; the phases are {', '.join(PHASES)}")
    if before and PHASES.index(phase) <= PHASES.index(before):
        raise LessonError(f"{where}: {phase} cannot come after {before}; the order is {', '.join(PHASES)}")
    return phase


def misspelled(comments: Comments) -> Iterator[tuple[int, str, str]]:
    """Yield each line that looks like a directive and is none: its number, its first word, the directive that was
    probably meant.

    Only a line where a sentence may begin can be meant as a directive. A word in small letters is one there, because a
    sentence begins with a capital letter. A word with a capital letter is one if it is similar to a directive.
    """
    for number, line in comments.items():
        begin = _LIKE_A_DIRECTIVE.fullmatch(line)
        if begin is None or _DIRECTIVE.fullmatch(line) or not _ends_sentence(comments.get(number - 1, "")):
            continue
        if meant := _meant(begin[1]):
            yield number, begin[1], meant


def _meant(word: str) -> str:
    """Return the directive that a word probably means; empty if it is the first word of a sentence."""
    if word.islower() and word in MEANT:
        return MEANT[word]
    near = difflib.get_close_matches(word.lower(), DIRECTIVES, 1, 0 if word.islower() else ALIKE)
    return near[0] if near else ""


ALIKE = 0.88
"""The similarity, from 0 to 1, from which a word with a capital letter is taken for a directive."""


def _ends_sentence(line: str) -> bool:
    patterns = (_HEADING, _DIRECTIVE)
    return not line.strip() or line.rstrip()[-1] in ".?!" or any(pattern.fullmatch(line) for pattern in patterns)


def not_a_directive(word: str, meant: str) -> str:
    """Return the error for a line that looks like a directive."""
    if word == meant:
        return f"{word}: has no value; write # {word}: ... or leave the line out"
    return (
        f"there is no directive {word}: ...; did you mean # {meant}: ...? The directives are {', '.join(DIRECTIVES)}. "
        f"A sentence begins with a capital letter: {word.capitalize()}: ..."
    )
