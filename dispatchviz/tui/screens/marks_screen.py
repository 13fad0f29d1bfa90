"""The list of marks. The reader chooses one to go there."""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.choice_list import ChoiceList
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line


def mark_rows(session: Session) -> list[Line]:
    """The rows of the marks, in the order of the steps."""
    width = len(str(session.cursor.last_step))
    return [
        line(
            (f"{step:>{width}} ", "dim"),
            (f"{name}  " if name else "", "bold"),
            "?" if session.cursor.hides(step) else label(session.trace, step),
            goto=step,
        )
        for step, name in session.marks.names.items()
    ]


class MarksView(ChoiceList):
    """The rows of the marks, one of them chosen: at first the mark of the next marked step."""

    BINDINGS: ClassVar = [Binding("apostrophe", "choose(1)", show=False), Binding("right", "go", show=False)]

    def __init__(self, session: Session, palette: Palette) -> None:
        super().__init__("Marks (Enter goes there, Esc or q closes)", palette)
        self._session = session
        steps = list(session.marks.names)
        self._chosen = min(bisect_left(steps, session.cursor.at), len(steps) - 1)

    def rows(self, width: int) -> list[Line]:
        return mark_rows(self._session)

    def go(self, row: Line) -> None:
        if row.goto is not None:
            note = f" Mark {self._session.marks.names[row.goto]}".rstrip()
            self.screen.dismiss(Update(self._session.cursor.goto(row.goto), line((note, "hint"))))


class MarksScreen(ModalScreen[Update | None]):
    """The screen with the list, which closes with the update that goes to the chosen mark, or with None."""

    BINDINGS: ClassVar = [Binding("escape,q,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "MarksScreen { align: center middle; } MarksView { width: 90%; height: 60%; padding: 0 1; }"

    def __init__(self, session: Session, palette: Palette) -> None:
        super().__init__()
        self._view = MarksView(session, palette)

    def compose(self) -> ComposeResult:
        yield self._view
