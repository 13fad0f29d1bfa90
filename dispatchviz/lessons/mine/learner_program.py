"""The file of a learner: a changed copy of a lesson's program. The first one is written from the lesson."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dispatchviz.core.record.trace_file import looks_like_trace
from dispatchviz.lessons.lesson_file import Lesson, program_of
from dispatchviz.lessons.passages import OWN_WORK
from dispatchviz.lessons.problem import LessonError


def learners_lesson(lesson: Lesson, path: Path) -> Lesson:
    """Return the lesson with the program of a learner's file. Raise LessonError if the file cannot be read, or is not a
    Python program but, for example, a saved trace.
    """
    try:
        raw = path.read_bytes()
        if looks_like_trace(raw):
            raise LessonError(f"{path} is a saved trace; this needs the program itself, a .py file")
        source = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(f"cannot read the program {path}: {error}") from None
    return replace(lesson, path=path, program=program_of(source, path))


def write_first(lesson: Lesson, path: Path) -> None:
    """Write the lesson's program with its tasks. Raise LessonError if the file exists or cannot be written."""
    if path.suffix != ".py":
        raise LessonError(
            f"the name of your program must end in .py: dispatchviz lesson {lesson.name} --mine {path}.py"
        )
    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write("\n".join(_first_lines(lesson)))
    except OSError as error:
        raise LessonError(f"cannot write {path}: {error.strerror}") from None


def _first_lines(lesson: Lesson) -> Iterator[str]:
    yield f"# {lesson.title}"
    for passage in lesson.passages:
        if passage.phase in OWN_WORK and passage.text:
            yield from ("#", f"# {passage.phase}")
            yield from (f"# {row}".rstrip() for row in passage.text.split("\n"))
    yield ""
    yield re.sub(r"\n{3,}", "\n\n", lesson.program).lstrip("\n")
