"""The problems of a lesson's file, each with its line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dispatchviz.foundation.english import counted, listed
from dispatchviz.foundation.errors import DispatchvizError


class LessonError(DispatchvizError):
    """A file that is not a lesson, with the line where that shows."""


class Problem(NamedTuple):
    """A problem of a lesson, and its line in the lesson's file, counted from 1."""

    line: int
    text: str
    is_limit: bool = False
    """True if the lesson is right, but a recording of an installed PyTorch cannot show the step."""


class WrongLessonError(LessonError):
    """A lesson with problems."""

    def __init__(self, text: str, path: Path, problems: Sequence[Problem]) -> None:
        """``problems`` are those that were found in the file at ``path``."""
        super().__init__(text)
        self.path, self.problems = path, problems


def placed(path: Path, problems: Iterable[Problem]) -> list[str]:
    """Return a text for each problem, in the order of the file: ``own.py, line 3: ...``. Problems with the same text
    are one: ``own.py, lines 3 and 7: ...``.
    """
    lines: dict[str, list[int]] = {}
    for problem in sorted(problems, key=lambda problem: problem.line):
        lines.setdefault(problem.text, []).append(problem.line)
    return [f"{path}, {_lines(numbers)}: {text}" for text, numbers in lines.items()]


def _lines(numbers: Sequence[int]) -> str:
    return f"line {numbers[0]}" if len(numbers) == 1 else f"lines {listed([*map(str, numbers)])}"


def refusal(path: Path, problems: Sequence[Problem], others: Sequence[Problem] = ()) -> WrongLessonError:
    """Return the error for a lesson that cannot be opened: the first of its problems, the number of more, and the
    command that prints all. ``others`` are problems that only a check finds; they may contain the same ones.
    """
    first = placed(path, problems)[0]
    if more := len({problem.text for problem in (*problems, *others)}) - 1:
        first += f" ({counted(more, 'more problem')}: dispatchviz lesson check {shlex.quote(str(path))})"
    return WrongLessonError(first, path, problems)
