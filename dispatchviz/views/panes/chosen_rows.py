"""The rows of a pane, wrapped to its width, with at most one chosen row, and the look of that row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Self

from msgspec import Struct
from msgspec.structs import replace
from msgspec.structs import replace as with_fields

from dispatchviz.views.keymap import key_of
from dispatchviz.views.text.line_fitting import path_end, wrap
from dispatchviz.views.text.styled_line import PATH, Line


class ChosenRows(Struct, frozen=True):
    """Rows, each wrapped into lines, and the start of the chosen one. ``in_sight`` are the visible lines."""

    lines: Sequence[Line] = ()
    starts: Sequence[int] = ()
    """For each line, the first line of its row."""
    chosen: int | None = None
    """The first line of the chosen row; 0 is also the text in the title."""
    said: Line | None = None
    """The text in the title if there are no rows. It can be chosen if it leads to a step."""

    @classmethod
    def of(cls, rows: Iterable[Line], width: int, said: Line | None, room: int = 0) -> Self:
        """Wrap rows to a width, with none chosen. A row that would be cut takes more lines while some of ``room`` lines
        are free.
        """
        lines, starts = list[Line](), list[int]()
        for parts in _with_free_lines(list(rows), width, room):
            starts += [len(lines)] * len(parts)
            lines += parts
        return cls(lines, starts, said=said)

    @property
    def chosen_row(self) -> Line | None:
        """The chosen row, or None."""
        return None if self.chosen is None else self.lines[self.chosen] if self.lines else self.said

    @property
    def here(self) -> int | None:
        """The line that must be visible; None if there is none."""
        return next((at for at, row in enumerate(self.lines) if row.here), None)

    @property
    def widest(self) -> int:
        """The width of the longest row that is cut."""
        return max((row.width for row in self.lines if row.cut), default=0)

    def is_chosen(self, at: int) -> bool:
        """Return whether a line belongs to the chosen row."""
        return self.chosen is not None and at < len(self.lines) and self.starts[at] == self.chosen

    def next(self, direction: int, in_sight: range) -> Self | None:
        """Choose the nearest row in a direction, or without a chosen row, the first one in sight from that end or
        beyond it. Return None if no row in that direction leads anywhere.
        """
        if not self.lines:
            return None if self.said is None or self.said.goto is None else with_fields(self, chosen=0)
        before = self.chosen
        if before is None:
            before = in_sight.start - 1 if direction > 0 else in_sight.stop
        places = [at for at, row in enumerate(self.lines) if self.starts[at] == at and leads_somewhere(row)]
        beyond = [at for at in places if (at > before if direction > 0 else at < before)]
        return with_fields(self, chosen=beyond[0 if direction > 0 else -1]) if beyond else None

    def same(self, before: Line | None, in_sight: range) -> Self:
        """Choose the row of another step that corresponds to a chosen one, if it is in sight."""
        key = "" if before is None else before.key
        same = (at for at, row in enumerate(self.lines) if key and row.key == key and leads_somewhere(row))
        at = next(same, None)
        return with_fields(self, chosen=at if at is not None and at in in_sight else None)

    def changed(self, before: Self) -> Iterator[int]:
        """Yield the lines that differ from those before."""
        return (at for at, (new, old) in enumerate(zip_longest(self.lines, before.lines)) if new != old)


def leads_somewhere(row: Line) -> bool:
    """Return whether a row leads to a step or can be asked about."""
    return row.goto is not None or row.about is not None


def pointed(row: Line) -> Line:
    """The chosen row with its sign in the gutter, after the sign of a change."""
    (gutter, role), *rest = row.spans or (("  ", ""),)
    return replace(row, spans=((gutter[:1], role), ("›", "focus"), (gutter[2:], role), *rest))


def title_with_keys(title: str, row: Line) -> str:
    """The title of a pane with a chosen row: it names the keys for that row."""
    enter, ask, leave = (key_of(action).first for action in ("app.enter", "app.ask_thing", "zoom(False)"))
    goes = f"{enter} goes there" if row.goto is not None else f"{enter} asks"
    asks = f", {ask} asks" if row.goto is not None and row.about is not None else ""
    return f"{title} ›{goes}{asks}, {leave} leaves"


HANGING = 2
"""The cells by which the further lines of a row that would be cut are behind its first letter."""


def _with_free_lines(rows: Sequence[Line], width: int, room: int) -> list[list[Line]]:
    """The lines of each row. The row in view is the first to take free lines."""
    shown = [_parts(row, width) for row in rows]
    free = room - sum(map(len, shown))
    for at in sorted(range(len(rows)), key=lambda at: not rows[at].here):
        if free <= 0:
            break
        if rows[at].cut and rows[at].width > width:
            whole = _whole(rows[at], width)
            if len(whole) - 1 <= free:
                shown[at], free = whole, free - len(whole) + 1
    return shown


@lru_cache(maxsize=1024)
def _whole(row: Line, width: int) -> list[Line]:
    """The lines of a row that would be cut. A path at its end has one line, without folders for which there is no
    room.
    """
    first = next((at for at, letter in enumerate(row.plain) if letter.isalnum()), 0)
    indent = min(first + HANGING, width // 2)
    *before, (text, role) = row.spans
    end = path_end(text.strip(), width - indent) if role.endswith(PATH) else text
    return wrap(replace(row, spans=(*before, (end, role)), cut=False, indent=indent), width)


@lru_cache(maxsize=4096)
def _parts(row: Line, width: int) -> list[Line]:
    """Wrap a row. A row that is cut on the screen stays whole, since it may be scrolled sideways. Results are cached,
    because most rows are the same as at the previous step.
    """
    return [row] if row.cut else wrap(row, width)
