"""The layout of the panes: plain arithmetic from a screen size to rectangles.

Not here: which panes a step needs most (``needed_panes.py``), what the panes show (``panes``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

STEPS, KEYS, CELL, CALLS, SOURCE, GRAPH = PANES = (1, 2, 3, 4, 5, 6)
"""Panes by the number that is their key."""

SMALLEST = (60, 15)
"""Below this the stepper is of no use; plain output is."""


NEEDED_BY_PANES = 12
"""Rows for panes, header and footer."""


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


ROWS_WANTED = {STEPS: 15, KEYS: 13, CELL: 9, CALLS: 7, SOURCE: 12, GRAPH: 12}
"""Rows that suit a pane; a column is divided in these proportions."""


def why_height(height: int, needed: int) -> int:
    """Rows for the text on a step: always the same few, more where its text needs them, at most half the screen
    and never those that the panes need."""
    return max(min(needed, height // 2, height - NEEDED_BY_PANES), 5 if height >= 28 else 4)


def slots(width: int, height: int) -> int:
    """How many panes fit on a screen of this size beside the steps."""
    rows = height - sum(Frame())
    if width < 96:
        return 1 if rows < 34 else 2
    if rows < 20:
        return 1
    return 2 if rows < 30 else 5


def arrange(width: int, height: int, shown: Sequence[int], frame: Frame, zoomed: int | None = None) -> dict[int, Box]:
    """A rectangle for every pane that is on the screen."""
    body = Box(0, frame.header + frame.why, width, max(height - sum(frame), 0))
    if zoomed:
        return {zoomed: body}
    if width < 96:
        return _stacked((STEPS, *shown), body, {**ROWS_WANTED, STEPS: 8})
    if len(shown) < 5:
        left = max(40, width * 2 // 5)
        return _stacked((STEPS,), body._replace(width=left)) | _stacked(shown, _right_of(left, body))
    if width < 170:
        left = max(40, width * 2 // 5)
        return _stacked((STEPS, CALLS, GRAPH), body._replace(width=left)) | _stacked(
            (KEYS, CELL, SOURCE), _right_of(left, body)
        )
    left, middle = width * 3 // 10, width * 7 // 20
    inner = Box(left + 1, body.y, middle, body.height)
    return (
        _stacked((STEPS,), body._replace(width=left))
        | _stacked((KEYS, CELL, CALLS), inner)
        | _stacked((SOURCE, GRAPH), _right_of(left + 1 + middle, body))
    )


def _right_of(x: int, body: Box) -> Box:
    return Box(x + 1, body.y, body.width - x - 1, body.height)


def _stacked(panes: Iterable[int], box: Box, wanted: Mapping[int, int] = ROWS_WANTED) -> dict[int, Box]:
    """A column: the rows are divided in proportion, none is lost."""
    panes = tuple(panes)
    total, passed, boxes = sum(wanted[pane] for pane in panes), 0, {}
    for pane in panes:
        top = box.height * passed // total
        passed += wanted[pane]
        boxes[pane] = Box(box.x, box.y + top, box.width, box.height * passed // total - top)
    return boxes
