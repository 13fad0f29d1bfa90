"""A lesson as one Python file: comments at the left margin are its prose, and the rest is the program that runs.

    # # Why AutogradCUDA runs first            the title: the first heading
    # A question from PyTorch's forum ...      prose, in Markdown
    import torch                               the program
    ...
    # ## Predict                               a phase: Predict, Run, Investigate, Modify, Make, in this order
    # predict: call add                        a question, named by the step that answers it
    # stop: z's Node                           a place to look at; the prose up to the next directive belongs to it
    # raises: RuntimeError                     the program must end with this error
    def check(trace): ...                      assertions about the trace: run by ``dispatchviz lesson check``
    def facts(): ...                           assertions about PyTorch: run on the model, and by tests on PyTorch

``check`` and ``facts`` are not part of the program, nor are functions ``facts_...`` that ``facts`` may call.
``stops.py`` defines the names of stops.
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
"""The phases of Sentance and Waite's PRIMM."""

ASSERTIONS = re.compile(r"check|facts(_\w+)?")
"""The names of functions that are not part of a lesson's program."""

DIRECTIVES = ("stop", "predict", "raises")

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
    """True if the reader predicts the step's outcome before it is shown."""
    line: int = 0
    """The first line of the passage in the file, counted from 1."""


@dataclass(frozen=True)
class Lesson:
    """A lesson, read from its file."""

    name: str
    """The name of its file, without ``.py``."""
    title: str
    passages: tuple[Passage, ...]
    program: str = field(repr=False)
    """The source of the program, with the line numbers of the file. Lines of prose are blank, because a pane that shows
    the program must not show the answers.
    """
    assertions: str = field(repr=False)
    """The source of ``check``, ``facts`` and ``facts_...``, also with the line numbers of the file."""
    raises: str = ""
    """The name of the error that the program ends with; empty if it ends well."""
    path: Path = Path()
    misspelled: tuple[tuple[int, str, str], ...] = ()
    """Lines of prose that look like a directive: line number, first word, the directive that was probably meant."""

    @property
    def summary(self) -> str:
        """The first paragraph, which says what the lesson is about, as one line."""
        text = self.passages[0].text if self.passages else ""
        return " ".join(text.split("\n\n")[0].split())

    @property
    def stops(self) -> tuple[Passage, ...]:
        """The passages that are about a step."""
        return tuple(passage for passage in self.passages if passage.stop)


def read_lesson(path: Path) -> Lesson:
    """Read the lesson in a file. Raise LessonError if the file is not a lesson."""
    try:
        source = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(f"cannot read the lesson {path}: {error}") from None
    return parse_lesson(source, path)


def parse_lesson(source: str, path: Path) -> Lesson:
    """Parse a lesson. Raise LessonError, with file and line, if the text is not a lesson."""
    text, assertions = _parts(source, path)
    comments = _comments(text)
    title, passages, raises = "", [], ""
    for passage, heading, error in _passages(comments, path):
        title, raises = title or heading, raises or error
        if passage is not None:
            passages.append(passage)
    if not title:
        raise LessonError(
            f"{path}: a lesson must have a title, which is a comment such as: # # Why AutogradCUDA runs first"
        )
    program = _without(text, comments)
    return Lesson(path.stem, title, tuple(passages), program, assertions, raises, path, tuple(_misspelled(comments)))


def _parts(source: str, path: Path) -> tuple[str, str]:
    """Split a source into the program and the assertions, each with blank lines in place of the other."""
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
"""Comments by line number, without the mark."""


def _comments(text: str) -> Comments:
    """Return the comments at the left margin."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = ((token.start, token.string) for token in tokens if token.type == tokenize.COMMENT)
    return {
        row: comment[1:].removeprefix(" ") for (row, column), comment in found if not column and comment[1:2] != "!"
    }


def _blocks(comments: Comments) -> Iterator[tuple[int, list[str]]]:
    """Yield comments of adjacent lines, with the number of the first line."""
    for first in (number for number in comments if number - 1 not in comments):
        last = next(number for number in count(first) if number not in comments)
        yield first, [comments[number] for number in range(first, last)]


def _without(text: str, comments: Comments) -> str:
    """Return the program with blank lines in place of its prose."""
    lines = ["" if number in comments else line for number, line in enumerate(text.split("\n"), 1)]
    return "\n".join(lines).rstrip() + "\n"


def _misspelled(comments: Comments) -> Iterator[tuple[int, str, str]]:
    for number, line in comments.items():
        begin = _LIKE_A_DIRECTIVE.fullmatch(line)
        if begin is not None and _DIRECTIVE.fullmatch(line) is None:
            near = difflib.get_close_matches(begin[1].lower(), DIRECTIVES, 1, 0.7)
            yield from ((number, begin[1], meant) for meant in near)


Found = tuple[Passage | None, str, str]
"""A passage or None; the title, if found here; the error that ends the program, if found here."""


def _passages(comments: Comments, path: Path) -> Iterator[Found]:
    """Yield the prose in order, split at headings and directives."""
    phase = ""
    for first, block in _blocks(comments):
        stop, asks, begin = "", False, first
        text: list[str] = []
        for number, line in enumerate(block, first):
            heading, directive = _HEADING.fullmatch(line), _DIRECTIVE.fullmatch(line)
            if heading is None and directive is None:
                text.append(line)
                continue
            yield from _passage(phase, text, stop, asks, begin)
            text, stop, asks, begin = [], "", False, number
            if heading is not None and len(heading[1]) == 1:
                yield None, heading[2], ""
            elif heading is not None:
                phase = _next_phase(phase, heading[2], f"{path}, line {number}")
            elif directive is not None and directive[1] == "raises":
                yield None, "", directive[2]
            elif directive is not None:
                stop, asks = directive[2], directive[1] == "predict"
        yield from _passage(phase, text, stop, asks, begin)


def _passage(phase: str, text: Iterable[str], stop: str, asks: bool, line: int) -> Iterator[Found]:
    prose = "\n".join(text).strip()
    if prose or stop:
        yield Passage(phase, prose, stop, asks, line), "", ""


def _next_phase(before: str, phase: str, where: str) -> str:
    if phase not in PHASES:
        raise LessonError(f"{where}: there is no phase {phase!r}; the phases are {', '.join(PHASES)}")
    if before and PHASES.index(phase) <= PHASES.index(before):
        raise LessonError(f"{where}: {phase} cannot come after {before}; the order is {', '.join(PHASES)}")
    return phase
