"""A question as a lesson's file has it, after the stop whose step shows the answer.

    # stop: second x.grad
    # ask: What does `x.grad` have now?
    # - [2, 2]
    #   That is the gradient of one backward.       a reply to learners who choose it
    # - [4, 4]
    # answer: x.grad -> [4, 4]
    # because: The second backward adds to it.
    #
    # Prose that appears after the answer.

Without choices, a yes-or-no question has the choices yes and no, and learners type any other value. The text after
``->`` is the teacher's own answer, which must be the value of the expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from dispatchviz.explain.predictions.prediction import LONGEST, MOST
from dispatchviz.foundation.errors import DispatchvizError

ASK, ANSWER, BECAUSE = "ask", "answer", "because"
PARTS = (ASK, ANSWER, BECAUSE)
"""The directives of a question, in their order."""

_CHOICE = re.compile(r"[-*]\s+(.*\S)\s*")
_STATED = re.compile(r"(.*?)\s*->\s*(.*\S)\s*")


class QuestionError(DispatchvizError):
    """A question with a wrong form, and the line where that shows."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class WrittenChoice(Struct, frozen=True):
    """A choice, and the reply to learners who choose it."""

    text: str
    reply: str = ""


class WrittenQuestion(Struct, frozen=True):
    """A question with its answer as an expression."""

    text: str
    choices: tuple[WrittenChoice, ...]
    """The choices in the teacher's order; empty if there are none in the file."""
    answer: str
    """The expression."""
    stated: str
    """The teacher's own answer; empty if there is none."""
    because: str
    line: int
    """The line of ``ask:`` in the file, counted from 1."""
    answer_line: int


class QuestionReader(Struct):
    """A reader of a question's lines, one after the other."""

    line: int
    text: list[str]
    _part: str = ASK
    _choices: list[tuple[int, list[str], list[str]]] = field(default_factory=list)
    _answer: list[str] = field(default_factory=list)
    _answer_line: int = 0
    _because: list[str] = field(default_factory=list)

    def directive(self, number: int, name: str, value: str) -> None:
        """Read ``answer:`` or ``because:``. Raise QuestionError if it is not the next part."""
        before = {ANSWER: not self._answer, BECAUSE: bool(self._answer) and not self._because}
        if not before.get(name, False):
            where = "after answer:" if name == BECAUSE else "once"
            raise QuestionError(
                number, f"write {name}: {where} in a question, whose order is ask:, choices, answer:, because:"
            )
        self._part = name
        if name == ANSWER:
            self._answer, self._answer_line = [value], number
        else:
            self._because = [value]

    def takes(self, number: int, line: str) -> bool:
        """Read a line that is no directive. Return False if it is no longer part of the question, but prose."""
        plain, choice = line.strip(), _CHOICE.fullmatch(line)
        if not plain:
            self._part = "" if self._answer else self._part
            return bool(self._part)
        if not self._part:
            return False
        if self._part == ASK and choice is not None:
            self._choices.append((number, [choice[1]], []))
        elif self._part == ASK and self._choices:
            self._continue_choice(number, line, plain)
        else:
            {ASK: self.text, ANSWER: self._answer, BECAUSE: self._because}[self._part].append(plain)
        return True

    def _continue_choice(self, number: int, line: str, plain: str) -> None:
        if not line.startswith(" "):
            raise QuestionError(number, "after the choices comes # answer: EXPRESSION; indent a reply to a choice")
        self._choices[-1][2].append(plain)

    def errors(self) -> Iterator[QuestionError]:
        """Yield an error for each part that is missing or too long."""
        if not self._answer:
            yield QuestionError(
                self.line, "the question has no answer; add # answer: EXPRESSION, such as: # answer: w.grad is None"
            )
        if self._choices and not 2 <= len(self._choices) <= MOST:
            said = f"a question has two to {MOST} choices, or none; this one has {len(self._choices)}"
            yield QuestionError(self.line, said)
        before = set[str]()
        for number, written, _ in self._choices:
            text = " ".join(written)
            if len(text) > LONGEST:
                said = f"a choice has at most {LONGEST} characters, but this one has {len(text)}"
                yield QuestionError(number, said)
            if text in before:
                yield QuestionError(number, f"two choices are the same: {text}")
            before.add(text)

    def question(self) -> WrittenQuestion:
        """Return the question, which must have no errors."""
        answer = " ".join(self._answer)
        stated = _STATED.fullmatch(answer)
        return WrittenQuestion(
            " ".join(self.text),
            tuple(WrittenChoice(" ".join(text), " ".join(reply)) for _, text, reply in self._choices),
            stated[1] if stated else answer,
            stated[2] if stated else "",
            " ".join(self._because),
            self.line,
            self._answer_line,
        )
