"""The list of right and wrong guesses. The reader chooses one to go to its step."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.tui.commands.predicting import forgotten, stopped
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.choice_list import ChoiceList
from dispatchviz.views.predictions.question_rows import guess_row, verdict
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line


class GuessesView(ChoiceList):
    """The rows of the guesses, one of them chosen."""

    BINDINGS: ClassVar = [Binding("right", "go", show=False), Binding("delete", "forget", show=False)]

    def __init__(self, session: Session, palette: Palette) -> None:
        score = session.asking.score(session.trace)
        super().__init__(f"{score} (Enter goes there, Delete deletes all, Esc or q closes)", palette)
        self._session = session
        self._guesses = list(session.asking.guesses.of(session.trace))

    def rows(self, width: int) -> list[Line]:
        return [guess_row(self._session.trace, *guess) for guess in self._guesses]

    def go(self, row: Line) -> None:
        asked, choice = self._guesses[self._chosen]
        self._session.asking.on = False
        note = verdict(self._session.trace, asked, choice)
        self.screen.dismiss(Update(self._session.cursor.goto(asked.reveals), note))

    def action_forget(self) -> None:
        self._session.asking.on = False
        self.screen.dismiss(forgotten(self._session))


class GuessesScreen(ModalScreen[Update | None]):
    """The screen with the list. When it closes, predict mode is off."""

    BINDINGS: ClassVar = [Binding("escape,q,backspace,p", "close", show=False)]
    DEFAULT_CSS = "GuessesScreen { align: center middle; } GuessesView { width: 96%; height: 70%; padding: 0 1; }"

    def __init__(self, session: Session, palette: Palette) -> None:
        super().__init__()
        self._session, self._view = session, GuessesView(session, palette)

    def compose(self) -> ComposeResult:
        yield self._view

    def action_close(self) -> None:
        self.dismiss(stopped(self._session))
