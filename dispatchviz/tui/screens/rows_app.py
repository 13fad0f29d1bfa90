"""The application of a screen with one list of rows: its keys and clicks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from textual.actions import parse

from dispatchviz.tui.screens.rows_screen import Pointed, RowsScreen, RowsState, Texts
from dispatchviz.tui.terminal.terminal_app import TerminalApp
from dispatchviz.views.keymap import Key


class MovingState(RowsState, Protocol):
    """A state whose cursor moves."""

    def goto(self, at: int) -> Any:
        """Move the cursor to a row, or to the nearest one that exists."""

    def move(self, by: int) -> Any:
        """Move the cursor by some rows."""


Moving = TypeVar("Moving", bound=MovingState)
Result = TypeVar("Result")


class RowsApp(TerminalApp[Result], Generic[Moving, Result]):
    """The application. Subclasses have the actions of their keymap."""

    def __init__(self, state: Moving, texts: Texts[Moving], keymap: Iterable[Key]) -> None:
        view = RowsScreen(state, texts)
        super().__init__(view, keymap)
        self.view = view

    @property
    def state(self) -> Moving:
        """The state that is shown."""
        return self.view.state

    def act(self, name: str, *arguments: Any) -> None:
        """Carry out an action of this screen."""
        raise NotImplementedError

    async def run_key_action(self, action: str) -> bool:
        """Run an action of the keymap: one of this screen, or one of the application."""
        namespace, name, arguments = parse(action)
        if namespace:
            return await self.run_action(action, self.view)
        if name == "page":
            self.view.show(self.state.move(self.view.page if arguments[0] == 1 else -self.view.page))
        else:
            self.act(name, *arguments)
        return True

    def on_pointed(self, message: Pointed) -> None:
        """Go to the row that was clicked; a click on the cursor's row is Enter."""
        if self.screen is not self.view:
            return
        if message.at == self.state.at:
            self.act("open")
        else:
            self.view.show(self.state.goto(message.at))
