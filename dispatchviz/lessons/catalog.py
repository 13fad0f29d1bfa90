"""The list of lessons: the shipped ones in teaching order, those about misconceptions, those in a teacher's folder."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from dispatchviz.foundation import shipped_examples
from dispatchviz.lessons.lesson_file import Lesson, read_lesson
from dispatchviz.lessons.problem import LessonError


def shipped_lessons() -> tuple[Path, ...]:
    """Return the files of the shipped lessons, in order."""
    return _shipped(shipped_examples.LESSONS)


def misconceptions() -> tuple[Path, ...]:
    """Return the files of the shipped lessons that ask about one misconception each, in order."""
    return _shipped(shipped_examples.MISCONCEPTIONS)


def _shipped(folder: str) -> tuple[Path, ...]:
    return tuple(each.path for each in shipped_examples.examples() if each.name.startswith(f"{folder}/"))


def lessons_in(folder: Path) -> tuple[Path, ...]:
    """Return the lessons in a teacher's folder, by name. Raise LessonError if there is no such folder, or no lesson in
    it.
    """
    if not folder.is_dir():
        raise LessonError(f"there is no folder {folder}")
    if not (found := _found(folder)):
        raise LessonError(
            f"there is no lesson in {folder}: a lesson is a .py file, which dispatchviz lesson new creates"
        )
    return found


def _found(folder: Path) -> tuple[Path, ...]:
    files = (path for path in folder.glob("*.py") if path.is_file() and not path.name.startswith("_"))
    return tuple(sorted(path for path in files if has_marks(path)))


def has_marks(path: Path) -> bool:
    """Return whether a file has a stop or a question; other programs may be in the folder. Raise LessonError if it
    cannot be read.
    """
    try:
        return _MARKS.search(path.read_text("utf-8", "replace")) is not None
    except OSError as error:
        raise LessonError(f"cannot read {path}: {error.strerror or error}") from None


_MARKS = re.compile(r"^#\s*(stop|predict):", re.MULTILINE)


def all_lessons(folder: Path | None) -> tuple[Path, ...]:
    """Return the lessons of a folder; without a folder the shipped ones, and then those about misconceptions."""
    return (*shipped_lessons(), *misconceptions()) if folder is None else lessons_in(folder)


def lesson_named(name: str, folder: Path | None) -> Lesson:
    """Return the lesson with a name, a number in the order, or a file. Raise LessonError, with similar names, if there
    is none.
    """
    return read_lesson(file_of_lesson(name, folder))


def file_of_lesson(name: str, folder: Path | None) -> Path:
    """Return the file of the lesson with a name or a number in the order; a file is returned as it is. Raise
    LessonError, with similar names, if there is none.
    """
    files = all_lessons(folder)
    if name.endswith(".py") or "/" in name:
        return Path(name)
    if name.isdecimal() and 0 < int(name) <= len(files):
        return files[int(name) - 1]
    for path in files:
        if path.stem == name:
            return path
    if Path(f"{name}.py").is_file():
        raise LessonError(f"there is no lesson {name!r}; did you mean the file {name}.py?")
    raise LessonError(f"there is no lesson {name!r}{_meant(name, [path.stem for path in files])}")


def word_of(lesson: Lesson) -> str:
    """Return the word that names a lesson in a command: its name if it ships, else its file."""
    return lesson.name if lesson.path in all_lessons(None) else lesson.path.name


def lesson_after(lesson: Lesson) -> str:
    """Return the word that names the next lesson: a name, or a file for a teacher's folder; empty after the last
    one, and before a file that is not a lesson.
    """
    path = lesson.path.resolve()
    groups = (shipped_lessons(), misconceptions())
    shipped = next((files for files in groups if path in [each.resolve() for each in files]), None)
    files = _found(lesson.path.parent) if shipped is None else shipped
    at = next((at for at, each in enumerate(files, 1) if each.resolve() == path), len(files))
    if at == len(files):
        return ""
    if shipped is not None:
        return files[at].stem
    return str(files[at]) if _is_lesson(files[at]) else ""


def _is_lesson(path: Path) -> bool:
    """Return whether a file is a lesson. A file with a mark of one may be another program, or a lesson with errors."""
    try:
        return bool(read_lesson(path).stops)
    except LessonError:
        return False


def _meant(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, 3, 0.42)
    return f"; did you mean {' or '.join(near)}?" if near else f"; the lessons are {', '.join(names)}"
