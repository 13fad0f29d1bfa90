"""A list over the stepper with one chosen row: rows that lead somewhere, and headings between them.

It accepts the keys of the step list in all keymaps at once, unless they wait for a second key. No letter has another
use here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace
from rich.style import Style
from textual.binding import Binding

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.views.panes.chosen_rows import leads_somewhere
from dispatchviz.views.text.styled_line import Line

AROUND = 2
"""The rows to keep visible above and below the chosen one."""


class ChoiceList(RowsView):
    """The base class of lists with a chosen row. Subclasses override ``rows`` and ``go``."""

    BINDINGS: ClassVar = [
        Binding("down,n,j,s", "choose(1)", show=False),
        Binding("up,N,k,S", "choose(-1)", show=False),
        Binding("pagedown,space,ctrl+f", "page(1)", show=False),
        Binding("pageup,ctrl+b", "page(-1)", show=False),
        Binding("home,g", "end(False)", show=False),
        Binding("end,G", "end(True)", show=False),
        Binding("enter", "go", show=False),
    ]

    def __init__(self, title: str, palette: Palette) -> None:
        super().__init__(0, title)
        self.palette = palette
        self._rows: Sequence[Line] = ()
        self._chosen = 0

    def rows(self, width: int) -> Sequence[Line]:
        """All rows at a width in cells."""
        raise NotImplementedError

    def go(self, row: Line) -> None:
        """Go where the chosen row leads."""
        raise NotImplementedError

    def can_be_chosen(self, row: Line) -> bool:
        """Return whether a row can be chosen; headings cannot."""
        return leads_somewhere(row)

    def begin_at(self, chosen: int) -> None:
        """Make the rows and choose one, or the next one that leads somewhere."""
        self._rows = self.rows(self.port.row_width - GUTTER)
        self.port.count = len(self._rows)
        choices = self._choices
        self._chosen = next((at for at in choices if at >= chosen), choices[-1] if choices else 0)
        self.port.scroll(0)
        self.reveal(self._chosen, AROUND)
        self.refresh()

    @property
    def chosen_row(self) -> Line | None:
        return self._rows[self._chosen] if self._choices else None

    def on_resize(self) -> None:
        self.fit(*self.size)

    def fitted(self) -> None:
        self.begin_at(self._chosen)

    def row(self, at: int, width: int) -> Line:
        row, here = self._rows[at], at == self._chosen and bool(self._choices)
        return replace(row, spans=(("▶ " if here else "  ", "focus"), *row.spans))

    def row_base(self, at: int) -> Style:
        here = at == self._chosen and bool(self._choices)
        return self.palette.base + self.palette.highlight if here else self.palette.base

    def pointed_at(self, at: int) -> None:
        if self.can_be_chosen(self._rows[at]):
            self._choose(at)
            self.action_go()

    def action_choose(self, by: int) -> None:
        if choices := self._choices:
            self._choose(choices[(choices.index(self._chosen) + by) % len(choices)])

    def action_page(self, direction: int) -> None:
        if choices := self._choices:
            wanted = self._chosen + direction * self.port.page
            beyond = [at for at in choices if (at >= wanted if direction > 0 else at <= wanted)]
            self._choose(self._end(direction > 0) if not beyond else beyond[0] if direction > 0 else beyond[-1])

    def action_end(self, last: bool) -> None:
        if self._choices:
            self._choose(self._end(last))

    def action_go(self) -> None:
        if (row := self.chosen_row) is not None:
            self.go(row)

    @property
    def _choices(self) -> list[int]:
        return [at for at, row in enumerate(self._rows) if self.can_be_chosen(row)]

    def _end(self, last: bool) -> int:
        return self._choices[-1 if last else 0]

    def _choose(self, at: int) -> None:
        self._chosen = at
        self.reveal(0 if at == self._choices[0] else at, AROUND)
        self.reveal(at, 0)
        self.refresh()


GUTTER = 2
"""The cells left of the text, for the sign of the chosen row."""
