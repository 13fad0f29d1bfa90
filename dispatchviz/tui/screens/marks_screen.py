"""The list of marks: choose one to go there."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.text.palette import Palette
from dispatchviz.tui.text.styled_line import Line, line
from dispatchviz.tui.widgets.rows_view import RowsView


class MarksView(RowsView):
    """A row per mark, one of them chosen."""

    BINDINGS: ClassVar = [
        Binding("down,n,j,apostrophe", "choose(1)", show=False),
        Binding("up,N,k", "choose(-1)", show=False),
        Binding("enter,right,s", "go", show=False),
    ]

    def __init__(self, session: Session, palette: Palette) -> None:
        super().__init__(0, "Marks (Enter goes there, Esc or q closes)")
        self._session, self._marks, self.palette = session, list(session.marks.names.items()), palette
        self.port.count = len(self._marks)
        steps = (step for step, _ in self._marks)
        self._chosen = next((at for at, step in enumerate(steps) if step >= session.cursor.at), self.port.count - 1)

    def on_resize(self) -> None:
        self.fit(*self.size)

    def fitted(self) -> None:
        self.reveal(self._chosen, 1)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        step, name = self._marks[at]
        number = f"{step:>{len(str(self._session.cursor.last_step))}} "
        here = at == self._chosen
        return line(("▶ " if here else "  ", "focus"), (number, "dim"), (f"{name}  " if name else "", "bold"),
                    (label(self._session.trace, step), ""))  # fmt: skip

    def row_base(self, at: int) -> Style:
        return self.palette.base + self.palette.highlight if at == self._chosen else self.palette.base

    def pointed_at(self, at: int) -> None:
        self._chosen = at
        self.action_go()

    def action_choose(self, by: int) -> None:
        self._chosen = (self._chosen + by) % self.port.count
        self.reveal(self._chosen, 1)
        self.refresh()

    def action_go(self) -> None:
        step, name = self._marks[self._chosen]
        self.screen.dismiss(Update(self._session.cursor.goto(step), line((f" Mark {name}".rstrip(), "hint"))))


class MarksScreen(ModalScreen[Update | None]):
    """The list over the stepper; closes with the update that goes to the chosen mark, or with None."""

    BINDINGS: ClassVar = [Binding("escape,q,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "MarksScreen { align: center middle; } MarksView { width: 90%; height: 60%; padding: 0 1; }"

    def __init__(self, session: Session, palette: Palette) -> None:
        super().__init__()
        self._view = MarksView(session, palette)

    def compose(self) -> ComposeResult:
        yield self._view
