"""Which row of a pane is chosen next, and how it looks. Plain arithmetic on its rows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dispatchviz.tui.widgets.viewport import Viewport
from dispatchviz.views.text.styled_line import Line


def leads_somewhere(row: Line) -> bool:
    """Whether there is a step to go to from a row, or something to ask."""
    return row.goto is not None or row.about is not None


def beginnings(rows: Sequence[Sequence[Line]]) -> list[int]:
    """Of each part of rows that are wrapped where its row begins, among all parts."""
    starts, at = list[int](), 0
    for parts in rows:
        starts += [at] * len(parts)
        at += len(parts)
    return starts


def choices(parts: Sequence[Line], starts: Sequence[int]) -> list[int]:
    """Where the rows begin that can be chosen."""
    return [at for at, row in enumerate(parts) if starts[at] == at and leads_somewhere(row)]


def next_choice(places: Sequence[int], chosen: int | None, port: Viewport, direction: int) -> int | None:
    """The nearest place on one side of the chosen one; without one the first in sight from that end, or beyond it."""
    if chosen is None:
        chosen = port.top - 1 if direction > 0 else min(port.top + port.rows, port.count)
    after = [at for at in places if (at > chosen if direction > 0 else at < chosen)]
    return None if not after else after[0] if direction > 0 else after[-1]


def same_choice(parts: Sequence[Line], port: Viewport, before: Line | None) -> int | None:
    """At another step: the row that is about the same as a chosen one, if it is in sight."""
    key = "" if before is None else before.key
    same = (at for at, row in enumerate(parts) if key and row.key == key and leads_somewhere(row))
    at = next(same, None)
    return at if at is not None and port.y_of(at) is not None else None


def pointed(row: Line) -> Line:
    """A chosen row: with a sign in the gutter, behind that of a change."""
    (gutter, role), *rest = row.spans or (("  ", ""),)
    return replace(row, spans=((gutter[:1], role), ("›", "focus"), (gutter[2:], role), *rest))
