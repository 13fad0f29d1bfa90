"""The statements of older articles beside the facts of today, and the reasons, over the stepper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.tui.commands.move_notes import jumped
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.choice_list import ChoiceList
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.details.then_and_now_rows import WHY, reason_rows, statement_rows
from dispatchviz.views.keymap import key_of
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import Line, line

TITLE = "Older articles and PyTorch today"
"""The short form of ``THEN_AND_NOW``: with the keys behind it, it fits into 80 cells."""


class ThenAndNowView(ChoiceList):
    """The list of statements or reasons. Each can be chosen; those that a step shows lead there."""

    BINDINGS: ClassVar = [Binding("tab,shift+tab", "other", show=False)]

    def __init__(self, cursor: Cursor, palette: Palette) -> None:
        super().__init__("", palette)
        self._cursor, self._reasons = cursor, False

    @property
    def shown_title(self) -> str:
        here, other = (WHY, "articles") if self._reasons else (TITLE, "why")
        tab, go, leave = (key_of(each).first for each in ("app.focus_next", "app.enter", "zoom(False)"))
        return f"{here}  ({tab}: {other}, {go} goes there, {leave} closes)"

    def rows(self, width: int) -> Sequence[Line]:
        made = reason_rows if self._reasons else statement_rows
        return made(self._cursor.trace, self._cursor.at, width)

    def can_be_chosen(self, row: Line) -> bool:
        return bool(row.key)

    def go(self, row: Line) -> None:
        if row.goto is None:
            note = line((" No step near this one shows it. The list names a program that does", "hint"))
            self.screen.dismiss(Update(self._cursor, note))
            return
        after = self._cursor.goto(row.goto)
        moved = after.at != self._cursor.at
        self.screen.dismiss(Update(after, jumped(self._cursor, after) if moved else None))

    def action_other(self) -> None:
        """Switch between statements and reasons."""
        self._reasons = not self._reasons
        self.begin_at(0)

    def _choose(self, at: int) -> None:
        super()._choose(at)
        following = next((row for row in range(at + 1, len(self._rows)) if self._rows[row].key), len(self._rows))
        self.reveal(following - 1, 0)
        self.reveal(at, 0)


class ThenAndNowScreen(ModalScreen[Update | None]):
    """The screen with the list, which closes with the update that goes to a step, or with None. The key that opened it
    also closes it.
    """

    BINDINGS: ClassVar = [Binding("escape,q,Y,backspace", "dismiss", show=False)]
    DEFAULT_CSS = (
        "ThenAndNowScreen { align: center middle; } "
        "ThenAndNowView { width: 100%; max-width: 150; height: 100%; padding: 0 1; }"
    )

    def __init__(self, cursor: Cursor, palette: Palette) -> None:
        super().__init__()
        self._view = ThenAndNowView(cursor, palette)

    def compose(self) -> ComposeResult:
        yield self._view
