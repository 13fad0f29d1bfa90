"""The step list while it has free rows: rows that are too long take several lines instead of being cut.

The row of the cursor comes first, then the others from the top. Elsewhere: the contents of a row (``step_rows.py``).
"""

from __future__ import annotations

from msgspec import Struct
from rich.cells import cell_len

from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.panes.step_rows import GAP, outcome_column, row_parts, step_row
from dispatchviz.views.text.line_fitting import fit, wrap
from dispatchviz.views.text.styled_line import Line, Span, line

HANGING = 2
"""The cells by which the further lines of a text are indented."""


class WrappedSteps(Struct, frozen=True):
    """All rows of a short list as lines."""

    lines: list[Line]
    rows: list[int]
    """For each line, the number of its row."""

    def changed(self, before: WrappedSteps) -> list[int]:
        """The lines that differ from those of a list of the same length."""
        now, old = zip(self.lines, self.rows, strict=True), zip(before.lines, before.rows, strict=True)
        return [at for at, (new, was) in enumerate(zip(now, old, strict=True)) if new != was]


def wrapped_steps(cursor: Cursor, width: int, room: int, short: bool = False) -> WrappedSteps | None:
    """The lines of a list with ``room`` lines; None if it has no free ones."""
    count = len(cursor.rows)
    if count >= room:
        return None
    free, shown = room - count, [[step_row(cursor, number, width, short)] for number in range(count)]
    here = cursor.row_number
    for number in (here, *range(here), *range(here + 1, count)):
        shown[number] = _at_most(free + 1, step_lines(cursor, number, width, short), width) or shown[number]
        free -= len(shown[number]) - 1
    lines = [each for row in shown for each in row]
    return WrappedSteps(lines, [number for number, row in enumerate(shown) for _ in row])


def _at_most(most: int, lines: list[Line], width: int) -> list[Line]:
    """The lines, cut to ``most`` of them; empty if only one of several is left."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], fit(line(*lines[most - 1].spans, " " * width), width)] if most > 1 else []


def step_lines(cursor: Cursor, number: int, width: int, short: bool = False) -> list[Line]:
    """A row with its whole text and outcome, in as many lines as it needs. No fact is divided if it fits in a line."""
    parts = row_parts(cursor, number, width, short)
    left = sum(cell_len(text) for text, _ in parts.before)
    column = outcome_column(width) + left - parts.begin if outcome_column(width) else left + HANGING
    lines = wrap(line(*parts.before, parts.text, indent=left + HANGING), width)
    for at, fact in enumerate(parts.facts):
        gap = max(column - lines[-1].width, len(GAP)) if at == 0 else len(GAP)
        lines[-1:] = _with_fact(lines[-1], gap, fact, column, width)
    return lines


def _with_fact(last: Line, gap: int, fact: Span, column: int, width: int) -> list[Line]:
    """The last line of a row with one more fact behind it or, if it does not fit there, in lines of its own."""
    joined = line(*last.spans, " " * gap, fact)
    if joined.width <= width:
        return [joined]
    return [last, *wrap(line(" " * column, fact, indent=column), width)]
