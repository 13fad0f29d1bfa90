"""The grades of many logs as one CSV table: a row for each log, a column for each line of the answer file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.written_files import STANDARD_OUTPUT, check_place, write_bytes
from dispatchviz.testing.marking import Mark

HEAD = ("log", "program", "held", "lines", "error")
"""The first columns."""

TRACES = (".dvtrace", ".jsonl", ".jsonl.gz")
"""The suffixes of the files that are graded in a folder."""


@dataclass(frozen=True)
class Graded:
    """A log with its marks; without marks if it cannot be read."""

    log: str
    program: str = ""
    marks: tuple[Mark, ...] = ()
    error: str = ""

    @property
    def holds(self) -> bool:
        """True if every line holds."""
        return not self.error and all(mark.holds for mark in self.marks)


def logs_in(paths: Sequence[str]) -> list[str]:
    """Return the logs, with those of folders in order of their names. Raise DispatchvizError for a folder without
    any.
    """
    return [log for path in paths for log in _logs(path)]


def _logs(path: str) -> Iterator[str]:
    if not Path(path).is_dir():
        yield path
        return
    found = sorted(str(each) for each in Path(path).iterdir() if each.name.endswith(TRACES) and each.is_file())
    if not found:
        raise DispatchvizError(f"there is no log in {path}: a log is a file that ends in {', '.join(TRACES)}")
    yield from found


def check_table(path: str) -> None:
    """Raise DispatchvizError if the table cannot be written there, or if another kind of file is there."""
    if path != STANDARD_OUTPUT:
        check_place(path, "table of check-log", lambda raw: raw.startswith(",".join(HEAD).encode()))


def write_table(path: str, graded: Sequence[Graded], lines: Sequence[str]) -> None:
    """Write the table. ``lines`` are the headings of the lines of the answer file."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*HEAD, *lines))
    rows.writerows(_row(each, len(lines)) for each in graded)
    write_bytes(path, text.getvalue().encode())


def _row(graded: Graded, lines: int) -> list[str | int]:
    numbers: list[str | int] = [sum(mark.holds for mark in graded.marks), len(graded.marks)]
    marks: list[str | int] = [int(mark.holds) for mark in graded.marks]
    if graded.error:
        numbers, marks = ["", ""], [""] * lines
    return [_plain(graded.log), _plain(graded.program), *numbers, _plain(graded.error), *marks]


def _plain(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
