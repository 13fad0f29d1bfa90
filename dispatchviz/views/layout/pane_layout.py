"""The layout of the panes: arithmetic from a screen size to columns, and from the panes of a column to rectangles.

Elsewhere: the panes that a step needs most (``needed_panes.py``), the contents of the panes (``panes``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

PANES = tuple(range(1, 16))
(STEPS, KEYS, CELL, CALLS, SOURCE, GRAPH, THREAD, TENSORS) = PANES[:8]
(ENGINE, OUTPUT, STRUCTURED, TABLE, NODE, COMPILER, MEMORY) = PANES[8:]
"""The panes, by number."""

PANE_NAMES = {
    STEPS: "steps",
    KEYS: "key set",
    CELL: "table cell",
    CALLS: "calls",
    SOURCE: "source",
    GRAPH: "backward graph",
    THREAD: "thread state",
    TENSORS: "tensors",
    ENGINE: "engine",
    OUTPUT: "output",
    STRUCTURED: "structured kernel",
    TABLE: "operator table",
    NODE: "node",
    COMPILER: "compiler",
    MEMORY: "memory",
}
"""The names of the panes in files."""

SMALLEST = (60, 15)
"""The smallest usable screen. On smaller ones, output is plain text."""

STACKED_BELOW, TWO_COLUMNS_BELOW = 96, 170
"""The widths below which the panes under the steps form one column, or two."""

NEEDED_BY_PANES = 12
"""The rows for panes, header and footer."""


class Box(NamedTuple):
    """A rectangle in cells."""

    x: int
    y: int
    width: int
    height: int


class Frame(NamedTuple):
    """The bars beside the panes, in rows."""

    header: int = 1
    why: int = 5
    footer: int = 1


ROWS_WANTED = {
    STEPS: 15,
    KEYS: 13,
    CELL: 9,
    CALLS: 8,
    SOURCE: 12,
    GRAPH: 12,
    THREAD: 9,
    TENSORS: 12,
    ENGINE: 10,
    OUTPUT: 6,
    STRUCTURED: 6,
    TABLE: 14,
    NODE: 14,
    COMPILER: 14,
    MEMORY: 14,
}
"""The preferred number of rows of each pane. A column is divided in these proportions."""

LEAST = {KEYS: 9, CELL: 7, CALLS: 7, THREAD: 7, OUTPUT: 5, STRUCTURED: 6}
"""The smallest usable number of rows of some panes; ``LEAST_OTHERS`` applies to the others."""

LEAST_OTHERS = 8

ONE = (PANES[1:],)
TWO = ((CALLS, CELL, TABLE, STRUCTURED, THREAD, TENSORS, GRAPH, NODE, COMPILER, MEMORY, OUTPUT), (KEYS, SOURCE, ENGINE))
THREE = (
    (CALLS, CELL, TENSORS),
    (KEYS, TABLE, STRUCTURED, THREAD, GRAPH, NODE, COMPILER, MEMORY, OUTPUT),
    (SOURCE, ENGINE),
)
"""The panes of each column below the steps, from top to bottom. A pane is always in the same column, and the panes that
one step needs are in different columns.
"""


def why_height(height: int, needed: int) -> int:
    """The rows for the sentence of a step: a small fixed number, more if the text needs them, but at most half of the
    screen and never rows that the panes need.
    """
    return max(min(needed, height // 2, height - NEEDED_BY_PANES), 5 if height >= 28 else 4)


def columns(width: int) -> tuple[tuple[int, ...], ...]:
    """The panes that may be in each column below the steps."""
    if width < STACKED_BELOW:
        return ONE
    return TWO if width < TWO_COLUMNS_BELOW else THREE


def least(pane: int) -> int:
    """The smallest usable number of rows of a pane."""
    return LEAST.get(pane, LEAST_OTHERS)


def steps_rows(rows: int) -> int:
    """The rows of the step list, which has the full width. The number is fixed, so that a page is always the same."""
    return rows // 2


def arrange(
    width: int,
    height: int,
    shown: Collection[int],
    frame: Frame,
    zoomed: int | None = None,
    shrunk: Collection[int] = (),
) -> dict[int, Box]:
    """The rectangle of every visible pane. Panes in ``shrunk`` get only their title row."""
    body = Box(0, frame.header + frame.why, width, max(height - sum(frame), 0))
    if zoomed:
        return {zoomed: body}
    parts = _parts(shown, shrunk, columns(width))
    steps = steps_rows(body.height) if parts else body.height
    below = body._replace(y=body.y + steps, height=body.height - steps)
    boxes = {STEPS: body._replace(height=steps)}
    for panes, box in zip(parts, _split(below, len(parts)), strict=True):
        boxes |= _stacked(panes, box, shrunk)
    return boxes


def _parts(there: Collection[int], shrunk: Collection[int], homes: Sequence[Sequence[int]]) -> list[list[int]]:
    """The panes of each column. If all panes of a column are shrunk, the column disappears, and each title moves to the
    end of the column with the fewest titles (the last one of equal columns).
    """
    found = [[pane for pane in home if pane in there] for home in homes]
    open_ = [column for column in found if any(pane not in shrunk for pane in column)]
    titles = [pane for column in found if column not in open_ for pane in column]
    for title in titles if open_ else ():
        min(reversed(open_), key=lambda column: sum(pane in shrunk for pane in column)).append(title)
    return open_


def _split(body: Box, number: int) -> list[Box]:
    """Split a box into columns of equal width, with one cell between them."""
    found, x = [], body.x
    for at in range(1, number + 1):
        width = (body.width - number + 1) * at // number + at - 1 - (x - body.x)
        found.append(body._replace(x=x, width=width))
        x += width + 1
    return found


def _stacked(panes: Sequence[int], box: Box, shrunk: Collection[int]) -> dict[int, Box]:
    """Divide the rows of a column among its panes without a remainder."""
    boxes, top = {}, box.y
    for pane, rows in _heights(panes, box.height, shrunk).items():
        boxes[pane] = Box(box.x, top, box.width, rows)
        top += rows
    return boxes


def _heights(panes: Sequence[int], rows: int, shrunk: Collection[int]) -> Mapping[int, int]:
    """The heights of panes: one row for shrunk panes, the rest divided among the others."""
    titles = [pane for pane in panes if pane in shrunk][: max(rows - 1, 0)]
    open_ = [pane for pane in panes if pane not in titles]
    found = dict.fromkeys(titles, 1) | _divided(open_, rows - len(titles))
    return {pane: found[pane] for pane in panes}


def _divided(panes: Sequence[int], rows: int) -> dict[int, int]:
    """Divide rows among panes: first the smallest usable number for each, if there are enough, then the remaining rows
    in proportion.
    """
    enough = sum(map(least, panes)) <= rows
    found = {pane: least(pane) if enough else 0 for pane in panes}
    more, total, passed, given = rows - sum(found.values()), sum(map(ROWS_WANTED.__getitem__, panes)), 0, 0
    for pane in panes:
        passed += ROWS_WANTED[pane]
        part = more * passed // total - given
        found[pane] += part
        given += part
    return found
