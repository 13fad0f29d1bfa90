"""A screen around a list of rows: its parts in their places, the focus on the list, the input line, the colors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from textual.app import ComposeResult
from textual.geometry import Size
from textual.layout import Layout
from textual.theme import Theme

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.terminal.terminal_app import View
from dispatchviz.tui.widgets.box_layout import BoxLayout
from dispatchviz.tui.widgets.painted_lines import Bar
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.views.layout.pane_layout import Box

AROUND = 2
"""The rows to keep visible before and after the chosen one."""


class ListScreen(View):
    """A screen whose first part for keys is a list."""

    def __init__(self, rows: RowsView, *bars: str) -> None:
        super().__init__()
        self._rows, self._bars = rows, {name: Bar(name) for name in bars}
        self._layout_of_boxes = BoxLayout(self._boxes)

    @property
    def layout(self) -> Layout:
        return self._layout_of_boxes

    @property
    def page(self) -> int:
        """The number of rows of a page."""
        return self._rows.port.page

    def _boxes(self, size: Size) -> Mapping[str, Box]:
        """Return the boxes of all widgets, by their ids."""
        raise NotImplementedError

    def _widgets(self) -> Iterator[Bar | RowsView]:
        """Yield all widgets, from top to bottom."""
        raise NotImplementedError

    def show_again(self) -> None:
        """Show the state at the current size of the terminal."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        self.use_theme()
        self.show_again()  # before the first layout, so that the first paint is complete
        yield from self._widgets()

    def on_mount(self) -> None:
        self._rows.focus()
        self.call_after_refresh(self._complete)

    async def _complete(self) -> None:
        await self.make_prompt(self._rows)

    def on_resize(self) -> None:
        self.show_again()

    def use_theme(self, theme: Theme | None = None) -> None:
        self.palette = Palette(self.app.theme_variables, self.app.no_color)
        for widget in self._widgets():
            widget.palette = self.palette
            widget.refresh()
