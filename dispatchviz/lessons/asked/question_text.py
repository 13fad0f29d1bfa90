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
from collections.abc import Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class WrittenChoice:
    """A choice, and the reply to learners who choose it."""

    text: str
    reply: str = ""


@dataclass(frozen=True)
class WrittenQuestion:
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


@dataclass
class QuestionReader:
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

    def question(self) -> WrittenQuestion:
        """Return the question. Raise QuestionError if a part is missing or too long."""
        if not self._answer:
            raise QuestionError(
                self.line, "the question has no answer; add # answer: EXPRESSION, such as: # answer: w.grad is None"
            )
        self._check_choices()
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

    def _check_choices(self) -> None:
        texts = [" ".join(text) for _, text, _ in self._choices]
        for (number, *_), text in zip(self._choices, texts, strict=True):
            if len(text) > LONGEST:
                raise QuestionError(number, f"a choice has at most {LONGEST} characters, but this one has {len(text)}")
        if texts and not 2 <= len(texts) <= MOST:
            raise QuestionError(self.line, f"a question has two to {MOST} choices, or none; this one has {len(texts)}")
        _check_different(self._choices, texts)


def _check_different(choices: Sequence[tuple[int, list[str], list[str]]], texts: Sequence[str]) -> None:
    for (number, *_), text in zip(choices, texts, strict=True):
        if texts.count(text) > 1:
            raise QuestionError(number, f"two choices are the same: {text}")
