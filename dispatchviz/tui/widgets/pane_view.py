"""A pane beside the steps: the rows that a function of ``panes`` makes of a step, with signs where they changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from msgspec.structs import replace
from rich.style import Style
from textual import events

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.panes.nothing_said import nothing
from dispatchviz.tui.panes.pane_list import Rows
from dispatchviz.tui.panes.row_changes import GUTTER, marked
from dispatchviz.tui.text.line_fitting import wrap
from dispatchviz.tui.text.long_text import cut_row
from dispatchviz.tui.text.styled_line import Line
from dispatchviz.tui.widgets.rows_view import Goto, RowsView, leads_somewhere

Place = tuple[Trace | None, int, int]
"""Trace, step, width."""

NOTHING: Place = (None, -1, 0)

AROUND = 4
"""Rows kept in sight above and below the one to look at."""


class PaneView(RowsView):
    """Shows the rows that ``make`` returns for the step of the cursor."""

    def __init__(self, number: int, title: str, make: Rows) -> None:
        super().__init__(number, title)
        self._make = make
        self._cursor: Cursor | None = None
        self._made: tuple[Place, list[Line]] = (NOTHING, [])
        self._wrapped: list[Line] = []
        self._starts: list[int] = []
        """Of each of these where the row begins that it is a part of."""
        self._chosen: int | None = None
        """Where the chosen row begins."""
        self._walked: tuple[Trace | None, int] = (None, -1)
        """The step at which the reader has walked through the rows: there they stay where they are."""

    def show(self, cursor: Cursor) -> None:
        """Follows the cursor; rows that differ from where it came from get a sign."""
        if cursor is not self._cursor:
            self._cursor = cursor
            self.fitted()
            if self.port.height == 1:
                self.refresh()

    @property
    def said(self) -> Line | None:
        cursor = self._cursor
        return None if cursor is None else nothing(self.number, cursor.trace, cursor.at)

    def on_click(self, event: events.Click) -> None:
        """A title that says when there will be something leads there."""
        said = self.said if self.port.height == 1 else None
        if said is None or said.goto is None:
            super().on_click(event)
        else:
            self.post_message(Goto(said.goto))

    def show_again(self) -> None:
        """Makes the rows again, because what they depend on besides the step has changed."""
        self._made = (NOTHING, [])
        self.fitted()

    @property
    def plain(self) -> list[str]:
        """All rows as text, with what is out of sight."""
        return [row.plain for row in self._wrapped]

    def row(self, at: int, width: int) -> Line:
        return pointed(self._wrapped[at]) if self.has_focus and at == self._chosen else self._wrapped[at]

    def row_base(self, at: int) -> Style:
        if self.has_focus and self._chosen is not None and at < self.port.count and self._starts[at] == self._chosen:
            return self.palette.base + self.palette.highlight
        shaded = at < self.port.count and self._wrapped[at].shaded
        return self.palette.base + self.palette.shade if shaded else self.palette.base

    # -- the chosen row ------------------------------------------------------------------------------------------------

    @property
    def shown_title(self) -> str:
        row = self.chosen_row if self.has_focus else None
        if row is None:
            return self.title
        enter, ask, leave = (key_of(action).first for action in ("app.enter", "app.ask_thing", "zoom(False)"))
        goes = f"{enter} goes there" if row.goto is not None else f"{enter} asks"
        asks = f", {ask} asks" if row.goto is not None and row.about is not None else ""
        return f"{self.title} ›{goes}{asks}, {leave} leaves"

    @property
    def chosen_row(self) -> Line | None:
        if self._chosen is None:
            return None
        return self._wrapped[self._chosen] if self._wrapped else self.said

    def choose(self, direction: int) -> bool:
        at, self._walked = self._next_choice(direction), self._place
        if at is None:
            before = self.port.top
            self.scroll_rows(before + direction)
            return self.port.top != before
        self._chosen = at
        self.reveal(at, AROUND)
        self.refresh()
        return True

    def let_go(self) -> bool:
        was, self._chosen = self._chosen, None
        if was is not None:
            self.refresh()
        return was is not None

    def _next_choice(self, direction: int) -> int | None:
        """The nearest row on one side that leads somewhere: of the chosen one, else of the end of what is in sight.

        Of a pane that is only a title that says where there will be something, the title.
        """
        if not self._wrapped:
            return 0 if (said := self.said) is not None and said.goto is not None else None
        choices = [at for at, row in enumerate(self._wrapped) if self._starts[at] == at and leads_somewhere(row)]
        if self._chosen is not None:
            begin = self._chosen
        else:
            top = self.port.top
            begin = top - 1 if direction > 0 else min(top + self.port.rows, self.port.count)
        after = [at for at in choices if (at > begin if direction > 0 else at < begin)]
        return None if not after else after[0] if direction > 0 else after[-1]

    def _choose_again(self, key: str) -> None:
        """Of another step the row that is about the same, if it is in sight; none else."""
        same = (at for at, row in enumerate(self._wrapped) if key and row.key == key and leads_somewhere(row))
        at = next(same, None)
        self._chosen = at if at is not None and self.port.y_of(at) is not None else None

    def pointed_at(self, at: int) -> None:
        if (step := self._wrapped[at].goto) is not None:
            self.post_message(Goto(step))

    def fitted(self) -> None:
        rows = self._rows(self._cursor) if self._cursor else []
        before, chosen = self._wrapped, self.chosen_row
        parts = [_parts(row, self.port.row_width) for row in rows]
        self._wrapped = [part for row in parts for part in row]
        self._starts = [start for start, row in _numbered(parts) for _ in row]
        self._stay_in_reach()
        self.port.count = len(self._wrapped)
        self._scroll()
        self._choose_again("" if chosen is None else chosen.key)
        if len(before) != self.port.count:
            self.refresh()  # the scroll bar changes with it
        else:
            pairs = enumerate(zip_longest(before, self._wrapped))
            self.refresh_rows(at for at, (old, new) in pairs if old != new)

    def _scroll(self) -> None:
        """Brings the row to look at into sight, unless the reader looks at others already."""
        here = next((at for at, row in enumerate(self._wrapped) if row.here), None)
        if self._place == self._walked:
            self.scroll_rows(self.port.top)
        elif here is None:
            self.scroll_rows(0)
        else:
            self.reveal(here, AROUND)

    @property
    def _place(self) -> tuple[Trace | None, int]:
        return (None, -2) if self._cursor is None else (self._cursor.trace, self._cursor.at)

    def _stay_in_reach(self) -> None:
        """Scrolls back as far as rows are shorter now."""
        widest = max((row.width for row in self._wrapped if row.cut), default=0)
        if self.port.left > max(widest - self.port.row_width, 0):
            self.port.left = max(widest - self.port.row_width, 0)
            self.refresh()

    def _rows(self, cursor: Cursor) -> list[Line]:
        if self.port.height <= 1:
            return []  # only the title is in sight
        before = self._rows_at(cursor.trace, cursor.at if cursor.came_from is None else cursor.came_from)
        return marked(self._rows_at(cursor.trace, cursor.at), before)

    def _rows_at(self, trace: Trace, at: int) -> list[Line]:
        width = self.port.row_width - GUTTER
        if self._made[0] != (trace, at, width):
            self._made = (trace, at, width), [cut_row(row) for row in self._make(trace, at, width)]
        return self._made[1]


def pointed(row: Line) -> Line:
    """A chosen row: with a sign in the gutter, behind that of a change."""
    (gutter, role), *rest = row.spans or (("  ", ""),)
    return replace(row, spans=((gutter[:1], role), ("›", "focus"), (gutter[2:], role), *rest))


def _numbered(rows: Iterable[list[Line]]) -> Iterator[tuple[int, list[Line]]]:
    """Rows with the place at which each begins."""
    at = 0
    for row in rows:
        yield at, row
        at += len(row)


def _parts(row: Line, width: int) -> list[Line]:
    """A row that is cut stays whole here: it may be scrolled sideways."""
    return [row] if row.cut else wrap(row, width)
