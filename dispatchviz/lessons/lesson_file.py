"""A lesson as one Python file: comments at the margin are its prose, the rest is the program that runs.

    # # Why AutogradCUDA runs first            the title: the first heading
    # A question from PyTorch's forum ...      prose, in Markdown
    import torch                               the program
    ...
    # ## Predict                               a phase: Predict, Run, Investigate, Modify, Make, in this order
    # predict: call add                        a question: which step answers it
    # stop: z's Node                           a place to look at; the prose up to the next directive belongs to it
    # raises: RuntimeError                     the program is meant to end so
    def check(trace): ...                      what the trace must have: run by ``dispatchviz lesson check``
    def facts(): ...                           what PyTorch itself says: run on the model, by tests on PyTorch, too

``check`` and ``facts`` are no part of the program, nor is a function ``facts_...``, which ``facts`` may call. How a
stop is named: ``stops.py``.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from dispatchviz.foundation.errors import DispatchvizError

PHASES = ("Predict", "Run", "Investigate", "Modify", "Make")
"""After Sentance and Waite's PRIMM."""

ASSERTIONS = re.compile(r"check|facts(_\w+)?")
"""Names of functions of a lesson that are no part of its program."""

DIRECTIVES = ("stop", "predict", "raises")

_DIRECTIVE = re.compile(rf"({'|'.join(DIRECTIVES)}):\s*(.*\S)\s*")
_LIKE_A_DIRECTIVE = re.compile(r"(\w+)\s*:.*")
_HEADING = re.compile(r"(#+)\s+(.*\S)\s*")


class LessonError(DispatchvizError):
    """A file that is no lesson, with the line where that shows."""


@dataclass(frozen=True)
class Passage:
    """A piece of prose, and the step that it is about, if it is about one."""

    phase: str
    """One of ``PHASES``; empty before the first."""
    text: str
    """Markdown, without the marks of the comments."""
    stop: str = ""
    """The name of the step; empty if it is about none."""
    asks: bool = False
    """The reader is asked for what the step tells, before it is shown."""
    line: int = 0
    """Where the passage begins in the file, from 1."""


@dataclass(frozen=True)
class Lesson:
    """A lesson that was read."""

    name: str
    """That of its file, without ``.py``."""
    title: str
    passages: tuple[Passage, ...]
    program: str = field(repr=False)
    """The source of the program; lines have the numbers that they have in the file, and where the file has prose they
    are blank: a pane that shows the program must not show the answers."""
    assertions: str = field(repr=False)
    """The source of ``check``, ``facts`` and its parts, with such line numbers, too."""
    raises: str = ""
    """The name of the error that the program ends with; empty if it ends well."""
    path: Path = Path()
    misspelled: tuple[tuple[int, str, str], ...] = ()
    """Lines of prose that look like a directive: number, first word, the directive that was probably meant."""

    @property
    def summary(self) -> str:
        """The first paragraph in one line: what the lesson is about."""
        text = self.passages[0].text if self.passages else ""
        return " ".join(text.split("\n\n")[0].split())

    @property
    def stops(self) -> tuple[Passage, ...]:
        """The passages that are about a step."""
        return tuple(passage for passage in self.passages if passage.stop)


def read_lesson(path: Path) -> Lesson:
    """The lesson in a file. LessonError if it is none."""
    try:
        source = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(f"cannot read the lesson {path}: {error}") from None
    return parse_lesson(source, path)


def parse_lesson(source: str, path: Path) -> Lesson:
    """The lesson that a text is. LessonError, with file and line, if it is none."""
    text, assertions = _parts(source, path)
    comments = _comments(text)
    title, passages, raises = "", [], ""
    for passage, heading, error in _passages(comments, path):
        title, raises = title or heading, raises or error
        if passage is not None:
            passages.append(passage)
    if not title:
        raise LessonError(f"{path}: a lesson begins with a title, a comment such as: # # Why AutogradCUDA runs first")
    program = _without(text, comments)
    return Lesson(path.stem, title, tuple(passages), program, assertions, raises, path, tuple(_misspelled(comments)))


def _parts(source: str, path: Path) -> tuple[str, str]:
    """The program without the assertions, the assertions alone: each with blank lines in place of the rest."""
    try:
        functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError as error:
        raise LessonError(f"{path}, line {error.lineno}: {error.msg}") from None
    cut = [node for node in functions if ASSERTIONS.fullmatch(node.name)]
    spans = [range(node.lineno - 1, node.end_lineno or node.lineno) for node in cut]
    lines = source.split("\n")
    inside = {number for span in spans for number in span}
    program = ["" if number in inside else line for number, line in enumerate(lines)]
    assertions = [line if number in inside else "" for number, line in enumerate(lines)]
    return "\n".join(program).rstrip() + "\n", "\n".join(assertions).rstrip() + "\n"


Comments = dict[int, str]
"""By the number of the line, without the mark."""


def _comments(text: str) -> Comments:
    """The comments at the margin."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = ((token.start, token.string) for token in tokens if token.type == tokenize.COMMENT)
    return {
        row: comment[1:].removeprefix(" ") for (row, column), comment in found if not column and comment[1:2] != "!"
    }


def _blocks(comments: Comments) -> Iterator[tuple[int, list[str]]]:
    """Comments of adjacent lines, with the number of the first one."""
    for first in (number for number in comments if number - 1 not in comments):
        last = next(number for number in count(first) if number not in comments)
        yield first, [comments[number] for number in range(first, last)]


def _without(text: str, comments: Comments) -> str:
    """The program with blank lines in place of its prose."""
    lines = ["" if number in comments else line for number, line in enumerate(text.split("\n"), 1)]
    return "\n".join(lines).rstrip() + "\n"


def _misspelled(comments: Comments) -> Iterator[tuple[int, str, str]]:
    for number, line in comments.items():
        begin = _LIKE_A_DIRECTIVE.fullmatch(line)
        if begin is not None and _DIRECTIVE.fullmatch(line) is None:
            near = difflib.get_close_matches(begin[1].lower(), DIRECTIVES, 1, 0.7)
            yield from ((number, begin[1], meant) for meant in near)


Found = tuple[Passage | None, str, str]
"""A passage; the title, if it is told there; the error that the program ends with, if it is told there."""


def _passages(comments: Comments, path: Path) -> Iterator[Found]:
    """The prose in order, cut at headings and directives."""
    phase = ""
    for first, block in _blocks(comments):
        stop, asks, begin = "", False, first
        text: list[str] = []
        for number, line in enumerate(block, first):
            heading, directive = _HEADING.fullmatch(line), _DIRECTIVE.fullmatch(line)
            if heading is None and directive is None:
                text.append(line)
                continue
            yield from _told(phase, text, stop, asks, begin)
            text, stop, asks, begin = [], "", False, number
            if heading is not None and len(heading[1]) == 1:
                yield None, heading[2], ""
            elif heading is not None:
                phase = _next_phase(phase, heading[2], f"{path}, line {number}")
            elif directive is not None and directive[1] == "raises":
                yield None, "", directive[2]
            elif directive is not None:
                stop, asks = directive[2], directive[1] == "predict"
        yield from _told(phase, text, stop, asks, begin)


def _told(phase: str, text: Iterable[str], stop: str, asks: bool, line: int) -> Iterator[Found]:
    said = "\n".join(text).strip()
    if said or stop:
        yield Passage(phase, said, stop, asks, line), "", ""


def _next_phase(before: str, phase: str, where: str) -> str:
    if phase not in PHASES:
        raise LessonError(f"{where}: there is no phase {phase!r}; the phases are {', '.join(PHASES)}")
    if before and PHASES.index(phase) <= PHASES.index(before):
        raise LessonError(f"{where}: {phase} cannot come after {before}; the order is {', '.join(PHASES)}")
    return phase
