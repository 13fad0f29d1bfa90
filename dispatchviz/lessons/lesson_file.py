"""A lesson as one Python file: comments at the left margin are its prose, and the rest is the program that runs. Other
comments are for the author only.

    # # Why AutogradCUDA runs first            the title: the first heading
    # A question from PyTorch's forum ...      prose, in Markdown
    import torch                               the program
    ...
    # ## Predict                               a phase: Predict, Run, Investigate, Modify, Make, in this order
    # predict: call add                        a question, named by the step that answers it
    # stop: z's Node                           a place to look at; the prose up to the next directive belongs to it
    # ask: Is z a leaf?                        a question of the lesson itself, about the stop above it
    # answer: z.is_leaf                        its answer, an expression (``asked/question_text.py``)
    # because: An operator returned it.
    # raises: RuntimeError                     the program must end with this error
    def check(trace): ...                      assertions about the trace: run by ``dispatchviz lesson check``
    def facts(): ...                           assertions about PyTorch: run on the model, and by tests on PyTorch

``check`` and ``facts`` are not part of the program, nor are functions ``facts_...`` that ``facts`` may call.
``stops.py`` defines the names of stops.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dispatchviz.lessons.directives import Comments, misspelled, not_a_directive
from dispatchviz.lessons.passages import Goal, Passage, Wrong, passages_of
from dispatchviz.lessons.problem import LessonError, Problem, refusal

ASSERTIONS = re.compile(r"check|facts(_\w+)?")
"""The names of functions that are not part of a lesson's program."""


@dataclass(frozen=True)
class Lesson:
    """A lesson, read from its file."""

    name: str
    """The name of its file, without ``.py``."""
    title: str
    passages: tuple[Passage, ...]
    program: str = field(repr=False)
    """The source of the program, with the line numbers of the file. It has no comments, because a pane that shows the
    program must not show the answers.
    """
    assertions: str = field(repr=False)
    """The source of ``check``, ``facts`` and ``facts_...``, also with the line numbers of the file."""
    raises: str = ""
    """The name of the error that the program ends with; empty if it ends well."""
    path: Path = Path()
    misspelled: tuple[tuple[int, str, str], ...] = ()
    """Lines of prose that look like a directive: line number, first word, the directive that was probably meant."""
    wrong: tuple[Problem, ...] = ()
    """The parts of the file with a wrong form; empty unless it is a draft."""

    @property
    def summary(self) -> str:
        """The first paragraph, which says what the lesson is about, as one line."""
        text = self.passages[0].text if self.passages else ""
        return " ".join(text.split("\n\n")[0].split())

    @property
    def is_python(self) -> bool:
        """True if the file is a program. The draft of another file has nothing but an error."""
        return bool(self.program)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems that show without a run of the program."""
        return (*self.wrong, *(Problem(line, not_a_directive(word, meant)) for line, word, meant in self.misspelled))

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The expressions that must hold at the end of a learner's program."""
        return tuple(goal for passage in self.passages for goal in passage.goals)

    @property
    def hints(self) -> tuple[str, ...]:
        """The author's hints for learners, from a nudge to the answer."""
        return tuple(hint for passage in self.passages for hint in passage.hints)

    @property
    def stops(self) -> tuple[Passage, ...]:
        """The passages that are about a step."""
        return tuple(passage for passage in self.passages if passage.stop)


def read_lesson(path: Path) -> Lesson:
    """Read the lesson in a file. Raise LessonError if the file is not a lesson."""
    return _complete(read_draft(path))


def parse_lesson(source: str, path: Path) -> Lesson:
    """Parse a lesson. Raise LessonError, with file and line, if the text is not a lesson."""
    return _complete(parse_draft(source, path))


def _complete(draft: Lesson) -> Lesson:
    if draft.wrong:
        raise refusal(draft.path, draft.problems)
    return draft


def read_draft(path: Path) -> Lesson:
    """Read a lesson that may have errors. Raise LessonError if the file cannot be read."""
    try:
        source = path.read_text("utf-8")
    except OSError as error:
        raise LessonError(f"cannot read the lesson {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise LessonError(f"cannot read the lesson {path}: {error}") from None
    return parse_draft(source, path)


def parse_draft(source: str, path: Path) -> Lesson:
    """Parse a lesson that may have errors: ``wrong`` has all of them."""
    try:
        text, assertions = _parts(source)
    except SyntaxError as error:
        return Lesson(path.stem, "", (), "", "", path=path, wrong=(Problem(error.lineno or 1, error.msg),))
    comments = _comments(text)
    looks_like = tuple(misspelled(comments))
    wrong: list[Wrong] = []
    found = list(passages_of(comments | {line: "" for line, _, _ in looks_like}, wrong))
    title = next((heading for _, heading, _ in found if heading), "")
    raises = next((error for _, _, error in found if error), "")
    passages = tuple(passage for passage, _, _ in found if passage is not None)
    problems = [each.problem for each in wrong if not _follows(each, looks_like)]
    if not title:
        problems.append(Problem(1, _NO_TITLE))
    return Lesson(path.stem, title, passages, _without(text), assertions, raises, path, looks_like, tuple(problems))


_NO_TITLE = "a lesson must have a title, which is a comment such as: # # Why AutogradCUDA runs first"


def _follows(wrong: Wrong, looks_like: Sequence[tuple[int, str, str]]) -> bool:
    """Return whether a line of its passage is the cause of an error, such as: # question: ..."""
    return any(wrong.begin <= line <= wrong.end for line, _, _ in looks_like)


def program_of(source: str, path: Path) -> str:
    """Return the program in the file of a lesson or of a learner. Raise LessonError if it is not Python."""
    try:
        return _without(_parts(source)[0])
    except SyntaxError as error:
        raise refusal(path, [Problem(error.lineno or 1, error.msg)]) from None


def _parts(source: str) -> tuple[str, str]:
    """Split a source into the program and the assertions, each with blank lines in place of the other. Raise
    SyntaxError if it is not Python.
    """
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    cut = [node for node in functions if ASSERTIONS.fullmatch(node.name)]
    spans = [range(node.lineno - 1, node.end_lineno or node.lineno) for node in cut]
    lines = source.split("\n")
    inside = {number for span in spans for number in span}
    program = ["" if number in inside else line for number, line in enumerate(lines)]
    assertions = [line if number in inside else "" for number, line in enumerate(lines)]
    return "\n".join(program).rstrip() + "\n", "\n".join(assertions).rstrip() + "\n"


def _comments(text: str) -> Comments:
    """Return the comments at the left margin."""
    found = ((token.start, token.string) for token in _comment_tokens(text))
    return {
        row: comment[1:].removeprefix(" ") for (row, column), comment in found if not column and comment[1:2] != "!"
    }


def _comment_tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return (token for token in tokens if token.type == tokenize.COMMENT)


def _without(text: str) -> str:
    """Return the program without comments. One beside the code may say what the code does, before the reader is asked.
    The first line of a script for a shell stays.
    """
    lines = text.split("\n")
    for token in _comment_tokens(text):
        row, column = token.start
        if column or token.string[1:2] != "!":
            lines[row - 1] = lines[row - 1][:column].rstrip()
    return "\n".join(lines).rstrip() + "\n"
