"""The grades of many logs as one CSV table: a row for each log, a column for each line of the answer file and for each
goal of the lesson.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.lessons.mine.goals import Reached, by_phase, is_done
from dispatchviz.outputs.written_files import STANDARD_OUTPUT, check_place, write_bytes
from dispatchviz.testing.marking import Mark

HEAD = ("log", "program")
"""The first columns."""

OF_LINES, OF_GOALS = ("held", "lines"), ("reached", "goals")
"""The columns of the numbers, for an answer file and for the goals of a phase."""

TRACES = (".dvtrace", ".jsonl", ".jsonl.gz")
"""The suffixes of the files that are graded in a folder."""


class Graded(Struct, frozen=True):
    """A log with its marks; without marks if it cannot be read."""

    log: str
    program: str = ""
    marks: tuple[Mark, ...] = ()
    goals: tuple[Reached, ...] = ()
    note: str = ""
    """The exception that left the program, and the reason why some goals have no value."""
    error: str = ""
    """The reason why the log cannot be read."""

    @property
    def holds(self) -> bool:
        """True if every line holds and every goal of a phase is reached."""
        return not self.error and all(mark.holds for mark in self.marks) and is_done(self.goals)


def logs_in(paths: Sequence[str], suffixes: tuple[str, ...] = TRACES) -> list[str]:
    """Return the logs, with those of folders in order of their names. Raise DispatchvizError for a folder without
    any.
    """
    return [log for path in paths for log in _logs(path, suffixes)]


def _logs(path: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    if not Path(path).is_dir():
        yield path
        return
    found = sorted(str(each) for each in Path(path).iterdir() if each.name.endswith(suffixes) and each.is_file())
    if not found:
        raise DispatchvizError(f"there is no log in {path}: a log is a file that ends in {', '.join(suffixes)}")
    yield from found


def check_table(path: str) -> None:
    """Raise DispatchvizError if the table cannot be written there, or if another kind of file is there."""
    if path != STANDARD_OUTPUT:
        check_place(path, "table of check-log", lambda raw: raw.startswith(",".join(HEAD).encode()))


def write_table(path: str, graded: Sequence[Graded], counts: Sequence[str], cells: Sequence[str]) -> None:
    """Write the table. ``counts`` are the headings of the numbers, ``cells`` those of the lines of the answer file
    and of the goals.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*HEAD, *counts, "error", *cells))
    rows.writerows(_row(each, len(counts), len(cells)) for each in graded)
    write_bytes(path, text.getvalue().encode())


def _row(graded: Graded, counts: int, cells: int) -> list[str | int]:
    begin = [_plain(graded.log), _plain(graded.program)]
    if graded.error:
        return [*begin, *[""] * counts, _plain(graded.error), *[""] * cells]
    held = [int(mark.holds) for mark in graded.marks]
    reached = ([int(goal.holds) for goal in group] for group in by_phase(graded.goals).values())
    numbers = [number for marks in (held, *reached) if marks for number in (sum(marks), len(marks))]
    shown = ["" if goal.needs_program else int(goal.holds) for goal in graded.goals]
    return [*begin, *numbers, _plain(graded.note), *held, *shown]


def _plain(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
