"""Which lessons there are: those that ship, in the order in which they are taught, and those in a teacher's folder."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from dispatchviz.foundation import shipped_examples
from dispatchviz.lessons.lesson_file import Lesson, LessonError, read_lesson


def shipped_lessons() -> tuple[Path, ...]:
    """The files of the lessons that ship, in order."""
    own = (each for each in shipped_examples.examples() if each.name.startswith(f"{shipped_examples.LESSONS}/"))
    return tuple(each.path for each in own)


def lessons_in(folder: Path) -> tuple[Path, ...]:
    """The lessons in a teacher's folder, by name. LessonError if it is none, or has none."""
    if not folder.is_dir():
        raise LessonError(f"{folder} is no folder with lessons")
    if not (found := _found(folder)):
        raise LessonError(f"there is no lesson in {folder}: a lesson is a .py file, dispatchviz lesson new makes one")
    return found


def _found(folder: Path) -> tuple[Path, ...]:
    files = (path for path in folder.glob("*.py") if path.is_file() and not path.name.startswith("_"))
    return tuple(sorted(path for path in files if has_marks(path)))


def has_marks(path: Path) -> bool:
    """Return whether a file has anything of a lesson: other programs may lie beside it. LessonError if it cannot be
    read.
    """
    try:
        return _MARKS.search(path.read_text("utf-8", "replace")) is not None
    except OSError as error:
        raise LessonError(f"cannot read {path}: {error.strerror or error}") from None


_MARKS = re.compile(r"^#\s*(stop|predict):", re.MULTILINE)


def all_lessons(folder: Path | None) -> tuple[Path, ...]:
    """Those of a folder, without one those that ship."""
    return shipped_lessons() if folder is None else lessons_in(folder)


def lesson_named(name: str, folder: Path | None) -> Lesson:
    """The lesson of a name, of a number in the order, or in a file. LessonError, with what there is, if none is."""
    files = all_lessons(folder)
    if name.endswith(".py") or "/" in name:
        return read_lesson(Path(name))
    if name.isdecimal() and 0 < int(name) <= len(files):
        return read_lesson(files[int(name) - 1])
    for path in files:
        if path.stem == name:
            return read_lesson(path)
    if Path(f"{name}.py").is_file():
        raise LessonError(f"there is no lesson {name!r}; the file that is here is {name}.py")
    raise LessonError(f"there is no lesson {name!r}{_meant(name, [path.stem for path in files])}")


def lesson_after(lesson: Lesson) -> str:
    """What names the lesson that comes next where it is from: a name, in a teacher's folder a file; empty if none
    does."""
    shipped, path = shipped_lessons(), lesson.path.resolve()
    files = shipped if path in [each.resolve() for each in shipped] else _found(lesson.path.parent)
    at = next((at for at, each in enumerate(files, 1) if each.resolve() == path), len(files))
    if at == len(files):
        return ""
    return files[at].stem if files is shipped else str(files[at])


def _meant(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, 3, 0.4)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(names)}"
