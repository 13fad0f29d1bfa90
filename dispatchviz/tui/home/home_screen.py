"""The home screen as widgets: the bar at the top, the description of the chosen row, the list, the footer, the input
line.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from rich.style import Style
from textual.geometry import Size
from textual.message import Message

from dispatchviz.tui.home import home_rows
from dispatchviz.tui.home.home_list import TRACE, Entry, Home
from dispatchviz.tui.home.preview import preview
from dispatchviz.tui.widgets.list_screen import AROUND, ListScreen
from dispatchviz.tui.widgets.painted_lines import Bar
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.views.layout.pane_layout import Box
from dispatchviz.views.text import code_colors
from dispatchviz.views.text.line_fitting import wrap
from dispatchviz.views.text.styled_line import Line, line


class Pointed(Message):
    """The message that the reader clicked on an entry."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class Complete(Message):
    """The message that the first screen is complete, so that slower work can start."""


class HomeList(RowsView):
    """The list of the entries under the titles of their groups."""

    def __init__(self, home: Home) -> None:
        super().__init__(1, "Home")
        self.number, self.key = 0, ""  # a single pane needs no key
        self._home, self._places = home, home_rows.list_places(home)

    def show_home(self, home: Home) -> None:
        """Show another state."""
        self._home, self._places = home, home_rows.list_places(home)
        self.title, self.port.count = home_rows.list_title(home), len(self._places)
        self.fitted()
        self.refresh()

    def fitted(self) -> None:
        if self._home.entries:
            self.reveal(self._places.index(self._home.at), AROUND)

    def row(self, at: int, width: int) -> Line:
        place = self._places[at]
        return place if isinstance(place, Line) else home_rows.list_row(self._home, place)

    def row_base(self, at: int) -> Style:
        here = at < len(self._places) and self._places[at] == self._home.at
        return self.palette.base + self.palette.highlight if here else self.palette.base

    def pointed_at(self, at: int) -> None:
        if at < len(self._places) and isinstance(place := self._places[at], int):
            self.post_message(Pointed(place))


class Preview(RowsView, can_focus=False):
    """The preview of the chosen entry."""

    def __init__(self) -> None:
        super().__init__(2, "")
        self.number, self.key = 0, ""
        self._entry: Entry | None = None
        self._rows: list[Line] = []

    def show_entry(self, entry: Entry | None) -> None:
        """Show another entry from its beginning. The same entry keeps its scroll position."""
        self.title = entry.target if entry and entry.kind != TRACE else ""
        if entry != self._entry:
            self._entry = entry
            self.scroll_rows(0)
        self.fitted()

    def fitted(self) -> None:
        rows = preview(self._entry)
        self._rows = [part for row in rows for part in wrap(row, self.port.row_width)]
        self.port.count = len(self._rows)
        self.scroll_rows(self.port.top)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        return self._rows[at]


class HomeScreen(ListScreen):
    """The screen that shows one state of the home screen."""

    def __init__(self, home: Home) -> None:
        self.home, self._label = home, ""
        self.list, self.preview = HomeList(home), Preview()
        super().__init__(self.list, "header", "why", "footer")

    def _boxes(self, size: Size) -> dict[str, Box]:
        return home_rows.boxes(size.width, size.height, len(self._label))

    def _widgets(self) -> Iterator[Bar | RowsView]:
        yield from (self._bars["header"], self._bars["why"], self.list, self.preview, self._bars["footer"])

    async def _complete(self) -> None:
        await super()._complete()
        self.call_after_refresh(self._color)

    def _color(self) -> None:
        """Load the code that colors sources, and show the preview again."""
        code_colors.load()
        self.show(self.home)
        self.post_message(Complete())

    def show_again(self) -> None:
        self.show(replace(self.home))

    def show(self, home: Home) -> None:
        """Show another state, at the current size of the terminal."""
        self.home, before = home, self._label
        self._label = self.prompt.label if self.prompt else ""
        width, height = self.app.size
        boxes = self._boxes(self.app.size)
        for widget in self._widgets():
            widget.display = widget.id in boxes
        self._bars["header"].show(home_rows.header(width, height))
        self._bars["why"].show(home_rows.about(home, width))
        self._bars["footer"].show([line((self._label, "keycap")) if self._label else home_rows.footer(width)])
        for pane in (self.list, self.preview):
            if box := boxes.get(pane.id or ""):
                pane.fit(box.width, box.height)
        self.list.show_home(home)
        if "pane2" in boxes:
            self.preview.show_entry(home.entry)
        if self._label != before:
            self._bars["header"].refresh(layout=True)  # otherwise Textual reuses the arrangement
