"""A screen with one list of rows: text above and below the list, the footer, the input line.

Elsewhere: the texts and the state of each screen (``comparison``, ``lanes``), keys and clicks (``rows_app.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from rich.style import Style
from textual.geometry import Size
from textual.message import Message

from dispatchviz.tui.widgets.list_screen import AROUND, ListScreen
from dispatchviz.tui.widgets.painted_lines import Bar
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.views.layout.least_size import is_too_small, too_small
from dispatchviz.views.layout.pane_layout import Box
from dispatchviz.views.text.styled_line import Line


class RowsState(Protocol):
    """The state of a screen: its rows and the cursor."""

    @property
    def rows(self) -> Sequence[object]:
        """The rows of the list."""

    @property
    def at(self) -> int:
        """The cursor's row."""


State = TypeVar("State", bound=RowsState)
Seen = TypeVar("Seen", bound=RowsState, contravariant=True)


class Texts(Protocol[Seen]):
    """The texts of a screen, as functions of its state. A module has them."""

    def heights(self, height: int) -> tuple[int, int]:
        """The numbers of rows of the text above and below the list."""

    def header(self, state: Seen) -> Line:
        """The top row."""

    def why(self, state: Seen, width: int, most: int) -> list[Line]:
        """The text above the list."""

    def below(self, state: Seen, width: int, most: int) -> list[Line]:
        """The text below the list."""

    def footer(self, width: int) -> Line:
        """The most important keys."""

    def list_title(self, state: Seen, width: int) -> str:
        """The title of the list."""

    def list_row(self, state: Seen, at: int, width: int) -> Line:
        """A row of the list."""


class Pointed(Message):
    """The message that the reader clicked on a row."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class RowsList(RowsView, Generic[State]):
    """The list of rows."""

    def __init__(self, state: State, texts: Texts[State]) -> None:
        super().__init__(1, "")
        self.number, self.key = 0, ""  # a single pane needs no key
        self._state, self._texts = state, texts

    def show_state(self, state: State) -> None:
        """Show another state."""
        self._state = state
        self.port.count = len(state.rows)
        self.fitted()
        self.refresh()

    def fitted(self) -> None:
        self.title = self._texts.list_title(self._state, self.port.row_width)
        self.reveal(self._state.at, AROUND)

    def row(self, at: int, width: int) -> Line:
        return self._texts.list_row(self._state, at, width)

    def row_base(self, at: int) -> Style:
        here = at == self._state.at and self._state.rows
        return self.palette.base + self.palette.highlight if here else self.palette.base

    def pointed_at(self, at: int) -> None:
        self.post_message(Pointed(at))


class RowsScreen(ListScreen, Generic[State]):
    """The screen that shows one state."""

    def __init__(self, state: State, texts: Texts[State]) -> None:
        self.list = RowsList(state, texts)
        super().__init__(self.list, "header", "why", "below", "footer")
        self.state, self._texts = state, texts

    def _boxes(self, size: Size) -> dict[str, Box]:
        width, height = size
        if is_too_small(width, height):
            return {"header": Box(0, 0, width, height)}
        above, below = self._texts.heights(height)
        return {
            "header": Box(0, 0, width, 1),
            "why": Box(0, 1, width, above),
            "pane1": Box(0, 1 + above, width, height - 2 - above - below),
            "below": Box(0, height - 1 - below, width, below),
            "footer": Box(0, height - 1, width, 1),
            "prompt": Box(0, height - 1, width, 1),
        }

    def _widgets(self) -> Iterator[Bar | RowsView]:
        yield from (self._bars["header"], self._bars["why"], self.list, self._bars["below"], self._bars["footer"])

    def show_again(self) -> None:
        self.show(self.state)

    def show(self, state: State) -> None:
        """Show another state, at the current size of the terminal."""
        self.state, size = state, self.app.size
        boxes, texts = self._boxes(size), self._texts
        for widget in self._widgets():
            widget.display = widget.id in boxes
        if is_too_small(*size):
            self._bars["header"].show(too_small(*size))
            return
        self._bars["header"].show([texts.header(state)])
        self._bars["footer"].show([texts.footer(size.width)])
        self._bars["why"].show(texts.why(state, size.width, boxes["why"].height))
        self._bars["below"].show(texts.below(state, size.width, boxes["below"].height))
        self.list.fit(boxes["pane1"].width, boxes["pane1"].height)
        self.list.show_state(state)
