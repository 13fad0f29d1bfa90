"""The list of visited places. The reader chooses one to go there; the places before and after it stay in the list."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.core.record.events import SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.tui.commands.move_notes import jumped
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.choice_list import ChoiceList
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import Line, line


def place_rows(cursor: Cursor) -> list[Line]:
    """The rows of the places, the first one on top. The current place has a sign."""
    steps, lines = len(str(cursor.last_step)), [source_line(cursor.trace, step) for step in cursor.places]
    numbers = [f"line {found.line}" if found else "" for found in lines]
    width = max(map(len, numbers))
    return [
        line(("● " if place == len(cursor.past) else "  ", "focus"), (f"{step:>{steps}}  {number:<{width}}  ", "dim"),
             "?" if cursor.hides(step) else _text(cursor.trace, step), goto=step, cut=True)
        for place, (step, number) in enumerate(zip(cursor.places, numbers, strict=True))
    ]  # fmt: skip


def _text(trace: Trace, step: int) -> str:
    """The label of a step. For a line, its source text, since its number is before it."""
    event = trace[step]
    return (isinstance(event, SourceLine) and source_text(trace, event)) or label(trace, step)


class PlacesView(ChoiceList):
    """The rows of the places; at first, the current one is chosen."""

    BINDINGS: ClassVar = [Binding("h", "choose(-1)", show=False), Binding("e", "choose(1)", show=False)]

    def __init__(self, cursor: Cursor, palette: Palette) -> None:
        super().__init__("Places you visited, ● is the current one (Enter goes there, Esc or q closes)", palette)
        self._cursor = cursor
        self._chosen = len(cursor.past)

    def rows(self, width: int) -> list[Line]:
        return place_rows(self._cursor)

    def go(self, row: Line) -> None:
        before, after = self._cursor, self._cursor.revisit(self._chosen)
        self.screen.dismiss(Update(after, jumped(before, after) if after.at != before.at else None))


class PlacesScreen(ModalScreen[Update | None]):
    """The screen with the list, which closes with the update that goes to the chosen place, or with None."""

    BINDINGS: ClassVar = [Binding("escape,q,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "PlacesScreen { align: center middle; } PlacesView { width: 90%; height: 60%; padding: 0 1; }"

    def __init__(self, cursor: Cursor, palette: Palette) -> None:
        super().__init__()
        self._view = PlacesView(cursor, palette)

    def compose(self) -> ComposeResult:
        yield self._view
