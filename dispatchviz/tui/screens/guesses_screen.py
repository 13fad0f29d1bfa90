"""The list of guesses, right and wrong: choose one to go to its step."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.tui.commands.predicting import forgotten, stopped
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.questions.predictions.question_rows import guess_row, verdict
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.text.palette import Palette
from dispatchviz.tui.text.styled_line import Line, line
from dispatchviz.tui.widgets.rows_view import RowsView


class GuessesView(RowsView):
    """A row per guess, one of them chosen."""

    BINDINGS: ClassVar = [
        Binding("down,n,j", "choose(1)", show=False),
        Binding("up,N,k", "choose(-1)", show=False),
        Binding("enter,right,s", "go", show=False),
        Binding("delete", "forget", show=False),
    ]

    def __init__(self, session: Session, palette: Palette) -> None:
        score = session.asking.guesses.score(session.trace)
        super().__init__(0, f"{score} (Enter goes there, Delete forgets all, Esc or q closes)")
        self._session, self.palette = session, palette
        self._guesses = list(session.asking.guesses.of(session.trace))
        self.port.count, self._chosen = len(self._guesses), 0

    def on_resize(self) -> None:
        self.fit(*self.size)

    def fitted(self) -> None:
        self.reveal(self._chosen, 1)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        row = guess_row(self._session.trace, *self._guesses[at])
        return line(("▶ " if at == self._chosen else "  ", "focus"), *row.spans)

    def row_base(self, at: int) -> Style:
        return self.palette.base + self.palette.highlight if at == self._chosen else self.palette.base

    def pointed_at(self, at: int) -> None:
        self._chosen = at
        self.action_go()

    def action_choose(self, by: int) -> None:
        self._chosen = (self._chosen + by) % max(self.port.count, 1)
        self.fitted()

    def action_go(self) -> None:
        if self._guesses:
            asked, choice = self._guesses[self._chosen]
            self._session.asking.on = False
            self.screen.dismiss(
                Update(self._session.cursor.goto(asked.reveals), verdict(self._session.trace, asked, choice))
            )

    def action_forget(self) -> None:
        self._session.asking.on = False
        self.screen.dismiss(forgotten(self._session))


class GuessesScreen(ModalScreen[Update | None]):
    """The list over the stepper; when it closes nothing is asked any more."""

    BINDINGS: ClassVar = [Binding(",".join(("escape", "q", "backspace", *key_of("predict").keys)), "close", show=False)]
    DEFAULT_CSS = "GuessesScreen { align: center middle; } GuessesView { width: 96%; height: 70%; padding: 0 1; }"

    def __init__(self, session: Session, palette: Palette) -> None:
        super().__init__()
        self._session, self._view = session, GuessesView(session, palette)

    def compose(self) -> ComposeResult:
        yield self._view

    def action_close(self) -> None:
        self.dismiss(stopped(self._session))
