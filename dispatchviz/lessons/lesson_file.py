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
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dispatchviz.errors import DispatchvizError

PHASES = ("Predict", "Run", "Investigate", "Modify", "Make")
"""After Sentance and Waite's PRIMM."""

ASSERTIONS = re.compile(r"check|facts(_\w+)?")
"""Names of functions of a lesson that are no part of its program."""

_DIRECTIVE = re.compile(r"(stop|predict|raises):\s*(.*\S)\s*")
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
    """The source of the program; lines have the numbers that they have in the file."""
    assertions: str = field(repr=False)
    """The source of ``check``, ``facts`` and its parts, with such line numbers, too."""
    raises: str = ""
    """The name of the error that the program ends with; empty if it ends well."""
    path: Path = Path()

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
    program, assertions = _parts(source, path)
    title, passages, raises = "", [], ""
    for passage, heading, error in _passages(program, path):
        title, raises = title or heading, raises or error
        if passage is not None:
            passages.append(passage)
    if not title:
        raise LessonError(f"{path}: a lesson begins with a title, a comment such as: # # Why AutogradCUDA runs first")
    return Lesson(path.stem, title, tuple(passages), program, assertions, raises, path)


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


def _comments(program: str) -> Iterator[tuple[int, list[str]]]:
    """The blocks of comments at the margin, each with the number of its first line."""
    block: list[str] = []
    for number, line in enumerate([*program.split("\n"), ""], 1):
        if line.startswith("#") and not line.startswith("#!"):
            block.append(line[1:].removeprefix(" "))
        elif block:
            yield number - len(block), block
            block = []


Found = tuple[Passage | None, str, str]
"""A passage; the title, if it is told there; the error that the program ends with, if it is told there."""


def _passages(program: str, path: Path) -> Iterator[Found]:
    """The prose in order, cut at headings and directives."""
    phase = ""
    for first, block in _comments(program):
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
