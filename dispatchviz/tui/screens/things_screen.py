"""The questions about a tensor or Node over the stepper. The reader follows an answer, or asks about its thing."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.things.tensor_questions import description, questions, title
from dispatchviz.explain.things.thing import CellThing, NodeThing, TensorThing
from dispatchviz.explain.things.uses import uses
from dispatchviz.tui.commands.move_notes import jumped
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.choice_list import ChoiceList
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.details.thing_rows import other_rows, question_rows
from dispatchviz.views.keymap import key_of
from dispatchviz.views.predictions.spoilers import without_hidden
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import Line

PAUSE = 0.001
"""The seconds between slices of the search through the calls, in which keys are read."""

REPORTED = 0.5
"""The seconds between two progress reports."""


ASKS = "i"
"""The key that asks about the chosen row in all keymaps; here it is never the first of two keys."""


class ThingsView(ChoiceList):
    """The list of questions about one thing at a time."""

    BINDINGS: ClassVar = [
        Binding(f"{ASKS},right", "ask", show=False),
        Binding("backspace,left", "back", show=False),
        Binding("tab", "other(1)", show=False),
        Binding("shift+tab", "other(-1)", show=False),
    ]

    def __init__(self, cursor: Cursor, things: Sequence[TensorThing | NodeThing], palette: Palette) -> None:
        super().__init__("", palette)
        self._cursor, self._here = cursor, list(things)
        self._things: list[tuple[TensorThing | NodeThing, int]] = [(self._here[0], 0)]
        """The things asked about so far, each with its chosen row."""
        self._uses = uses(cursor.trace)
        self._uses.go_on()
        self._reported = monotonic()
        """The time of the last progress report."""

    def on_mount(self) -> None:
        self._go_on()

    @property
    def thing(self) -> TensorThing | NodeThing:
        """The thing that the list is about."""
        return self._things[-1][0]

    @property
    def shown_title(self) -> str:
        trace, at = self._cursor.trace, self._cursor.at
        what = description(trace, self.thing, at)
        leave = key_of("zoom(False)").first
        keys = f"{key_of('app.enter').first} goes there, {ASKS} asks about the row, {leave} closes"
        return f"{title(trace, self.thing, at)}{f'  {what}' if what else ''}  ({keys})"

    def rows(self, width: int) -> list[Line]:
        trace, at = self._cursor.trace, self._cursor.at
        others = [thing for thing in self._here if thing != self.thing]
        answers = question_rows(trace, questions(trace, self.thing, at), width)
        return [*without_hidden(answers, self._cursor), *other_rows(trace, others, at)]

    def go(self, row: Line) -> None:
        if row.goto is None:
            self.action_ask()
        else:
            after = self._cursor.goto(row.goto)
            moved = after.at != self._cursor.at
            self.screen.dismiss(Update(after, jumped(self._cursor, after) if moved else None))

    def action_ask(self) -> None:
        """Ask about the thing of the chosen row."""
        row = self.chosen_row
        if row is not None and row.about is not None and not isinstance(row.about, CellThing):
            self._things[-1] = self.thing, self._chosen
            self._things.append((row.about, 0))
            self.begin_at(0)

    def action_back(self) -> None:
        """Go back to the previous thing, or close the list if this is the first one."""
        if len(self._things) == 1:
            self.screen.dismiss(None)
        else:
            self._things.pop()
            self.begin_at(self._things[-1][1])

    def action_other(self, by: int) -> None:
        """Ask about the next thing of the step instead."""
        place = self._here.index(self.thing) + by if self.thing in self._here else 0
        self._things = [(self._here[place % len(self._here)], 0)]
        self.begin_at(0)

    def _go_on(self) -> None:
        """Search more calls, and show the answers when all were searched."""
        if self._uses.complete:
            return
        self._uses.go_on()
        if self._uses.complete or monotonic() > self._reported + REPORTED:
            self._reported = monotonic()
            self.begin_at(self._chosen)
        self.set_timer(PAUSE, self._go_on)


class ThingsScreen(ModalScreen[Update | None]):
    """The screen with the list, which closes with the update that goes to a step, or with None."""

    BINDINGS: ClassVar = [Binding("escape,q", "dismiss", show=False)]
    DEFAULT_CSS = (
        "ThingsScreen { align: center middle; } ThingsView { width: 100%; max-width: 150; height: 80%; padding: 0 1; }"
    )

    def __init__(self, cursor: Cursor, things: Sequence[TensorThing | NodeThing], palette: Palette) -> None:
        super().__init__()
        self._view = ThingsView(cursor, things, palette)

    def compose(self) -> ComposeResult:
        yield self._view
