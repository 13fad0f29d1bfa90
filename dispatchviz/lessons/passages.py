"""The prose of a lesson, split into passages at headings and directives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from msgspec import Struct

from dispatchviz.lessons.asked.question_text import ASK, PARTS, QuestionError, QuestionReader, WrittenQuestion
from dispatchviz.lessons.directives import DIRECTIVE, GOAL, HEADING, HINT, PREDICT, RAISES, Comments
from dispatchviz.lessons.problem import Problem

PHASES = ("Predict", "Run", "Investigate", "Modify", "Make")
"""The phases of Sentance and Waite's PRIMM."""

OWN_WORK = ("Modify", "Make")
"""The phases in which learners change or write a program. Only they have goals and hints."""

MOST_HINTS = 3
"""The most hints of a phase, from a nudge to the answer."""


class Goal(NamedTuple):
    """An expression that must hold at the end of a learner's program."""

    line: int
    text: str
    phase: str = ""
    """The phase whose program must reach it: one of ``OWN_WORK``."""


class Passage(Struct, frozen=True):
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
    goals: tuple[Goal, ...] = ()
    """The expressions that must hold at the end of a learner's program."""
    hints: tuple[str, ...] = ()
    """The hints for learners whose program does not fulfill the goals, from a nudge to the answer."""


Found = tuple[Passage | None, str, str]
"""A passage or None; the title, if found here; the error that ends the program, if found here."""


class Wrong(NamedTuple):
    """A phase, question, goal or hint with a wrong form."""

    problem: Problem
    begin: int
    """The first line of its passage."""
    end: int
    """The last line that was read before it showed: the last line of its passage if a part is missing."""


def passages_of(comments: Comments, wrong: list[Wrong]) -> Iterator[Found]:
    """Yield the prose in order. Append each phase, question, goal or hint with a wrong form to ``wrong``."""
    reader = _Reader(wrong)
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

    def __init__(self, wrong: list[Wrong]) -> None:
        self._wrong, self._phase, self._hints, self._read = wrong, "", 0, 0
        self.begin(0)

    def begin(self, line: int, stop: str = "", asks: bool = False) -> None:
        """Begin a passage."""
        self._line, self._stop, self._asks = line, stop, asks
        self._text: list[str] = []
        self._question: QuestionReader | None = None
        self._has_failed = False
        """True after the first error of a question, because its next lines would only repeat it."""
        self._work: list[tuple[int, str, list[str]]] = []
        """The goals and hints: line, directive, text."""
        self._goes_on = False
        """True if the next line belongs to the last goal or hint."""

    def line(self, number: int, line: str) -> Iterator[Found]:
        """Read a line; yield what it ends, or what it says itself."""
        heading, directive = HEADING.fullmatch(line), DIRECTIVE.fullmatch(line)
        if directive is not None and directive[1] in PARTS:
            self._asking(number, directive[1], directive[2])
        elif directive is not None and directive[1] in (GOAL, HINT):
            self._working(number, directive[1], directive[2])
        elif heading is None and directive is None:
            if not self._is_work(line) and not self._is_questions(number, line):
                self._text.append(line)
        else:
            yield from self.passage()
            self.begin(number)
            if heading is not None and len(heading[1]) == 1:
                yield None, heading[2], ""
            elif heading is not None:
                self._begin_phase(number, heading[2])
            elif directive is not None and directive[1] == RAISES:
                yield None, "", directive[2]
            elif directive is not None:
                self.begin(number, directive[2], asks=directive[1] == PREDICT)
        self._read = number

    def passage(self) -> Iterator[Found]:
        """Yield the passage that has begun, unless it is empty."""
        prose = "\n".join(self._text).strip()
        question = self._written()
        if prose or self._stop or self._work:
            asks = self._asks or question is not None
            goals = tuple(Goal(line, " ".join(text), self._phase) for line, name, text in self._work if name == GOAL)
            hints = tuple(" ".join(text) for _, name, text in self._work if name == HINT)
            yield Passage(self._phase, prose, self._stop, asks, self._line, question, goals, hints), "", ""

    def _begin_phase(self, number: int, phase: str) -> None:
        before, self._phase, self._hints = self._phase, phase, 0
        if phase not in PHASES:
            self._report(number, f"there is no phase {phase!r}; the phases are {', '.join(PHASES)}")
        elif before in PHASES and PHASES.index(phase) <= PHASES.index(before):
            self._report(number, f"{phase} cannot come after {before}; the order is {', '.join(PHASES)}")

    def _asking(self, number: int, name: str, value: str) -> None:
        if self._has_failed:
            return
        if name == ASK and (not self._stop or self._asks or self._question or any(self._text)):
            self._fail(QuestionError(number, _NEEDS_STOP))
        elif name == ASK:
            self._question = QuestionReader(number, [value])
        elif self._question is None:
            self._fail(QuestionError(number, f"{name}: belongs to a question; write # ask: before it"))
        else:
            try:
                self._question.directive(number, name, value)
            except QuestionError as error:
                self._fail(error)

    def _fail(self, *errors: QuestionError) -> None:
        self._has_failed = True
        for error in errors:
            self._report(error.line, str(error))

    def _report(self, line: int, text: str) -> None:
        self._wrong.append(Wrong(Problem(line, text), self._line, max(line, self._read)))

    def _working(self, number: int, name: str, value: str) -> None:
        if self._phase in ("", *PHASES) and self._phase not in OWN_WORK:
            self._report(number, f"write {name}: in the phases {' and '.join(OWN_WORK)} only")
            return
        self._hints += name == HINT
        if self._hints > MOST_HINTS:
            self._report(number, f"a phase has at most {MOST_HINTS} hints, and this is one more")
            return
        self._work.append((number, name, [value]))
        self._goes_on = True

    def _is_work(self, line: str) -> bool:
        """Read a line that belongs to the last goal or hint; return whether it does."""
        self._goes_on = self._goes_on and bool(line.strip())
        if self._goes_on:
            self._work[-1][2].append(line.strip())
        return self._goes_on

    def _is_questions(self, number: int, line: str) -> bool:
        try:
            return self._question is not None and not self._has_failed and self._question.takes(number, line)
        except QuestionError as error:
            self._fail(error)
            return True

    def _written(self) -> WrittenQuestion | None:
        """Return the question of the passage; None if it has none, or one with a wrong form."""
        if self._question is None or self._has_failed:
            return None
        errors = list(self._question.errors())
        self._fail(*errors)
        return None if errors else self._question.question()


_NEEDS_STOP = (
    "a question needs a stop of its own in the line above it, whose step shows the answer: # stop: `loss.backward()`"
)
