"""The screen with lanes as widgets: text above and below the rows, the footer, the input line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.style import Style
from textual.app import ComposeResult
from textual.geometry import Size
from textual.layout import Layout
from textual.message import Message
from textual.theme import Theme

from dispatchviz.tui.lanes import lanes_rows
from dispatchviz.tui.lanes.lanes_state import LanesState
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.terminal.terminal_app import Ready, View
from dispatchviz.tui.widgets.box_layout import BoxLayout
from dispatchviz.tui.widgets.painted_lines import Bar
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.views.layout.pane_layout import Box
from dispatchviz.views.text.styled_line import Line

AROUND = 2
"""The rows to keep visible before and after the cursor's row."""


class Pointed(Message):
    """The message that the reader clicked on a row."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class LanesList(RowsView):
    """The list with the rows of all processes."""

    def __init__(self, state: LanesState) -> None:
        super().__init__(1, "")
        self.number, self.key = 0, ""  # a single pane needs no key
        self._state = state

    def show_state(self, state: LanesState) -> None:
        """Show another state."""
        self._state = state
        self.port.count = len(state.lanes.rows)
        self.fitted()
        self.refresh()

    def fitted(self) -> None:
        self.title = lanes_rows.list_title(self._state, self.port.row_width)
        self.reveal(self._state.at, AROUND)

    def row(self, at: int, width: int) -> Line:
        return lanes_rows.list_row(self._state, at, width)

    def row_base(self, at: int) -> Style:
        here = at == self._state.at and self._state.lanes.rows
        return self.palette.base + self.palette.highlight if here else self.palette.base

    def pointed_at(self, at: int) -> None:
        self.post_message(Pointed(at))


class LanesScreen(View):
    """The screen that shows one state of the lanes."""

    def __init__(self, state: LanesState) -> None:
        super().__init__()
        self.state, self._label = state, ""
        self._bars = {name: Bar(name) for name in ("header", "why", "below", "footer")}
        self.list = LanesList(state)
        self._layout_of_boxes = BoxLayout(self._boxes)

    @property
    def layout(self) -> Layout:
        return self._layout_of_boxes

    def _boxes(self, size: Size) -> dict[str, Box]:
        return lanes_rows.boxes(size.width, size.height, len(self._label))

    def _widgets(self) -> Iterator[Bar | RowsView]:
        yield from (self._bars["header"], self._bars["why"], self.list, self._bars["below"], self._bars["footer"])

    def compose(self) -> ComposeResult:
        self.use_theme()
        self.show(self.state)  # before the first layout, so that the first paint is complete
        yield from self._widgets()

    def on_mount(self) -> None:
        self.list.focus()
        self.call_after_refresh(self._make_prompt)

    async def _make_prompt(self) -> None:
        """Create the input line, so that keys are handled."""
        from dispatchviz.tui.widgets.prompt import Prompt  # not needed for the first paint

        prompt = Prompt(self.list)
        await self.mount(prompt)
        self.prompt = prompt
        self.post_message(Ready())

    def use_theme(self, theme: Theme | None = None) -> None:
        """Paint everything in the colors of the application's theme."""
        self.palette = Palette(self.app.theme_variables, self.app.no_color)
        for widget in self._widgets():
            widget.palette = self.palette
            widget.refresh()

    def show(self, state: LanesState) -> None:
        """Show another state, at the current size of the terminal."""
        self.state = state
        width, height = self.app.size
        boxes = self._boxes(self.app.size)
        for widget in self._widgets():
            widget.display = widget.id in boxes
        self._bars["header"].show(lanes_rows.header(state, width, height))
        self._bars["footer"].show([lanes_rows.footer(width)])
        if len(boxes) == 1:
            return
        self._bars["why"].show(lanes_rows.why(state, width, boxes["why"].height))
        self._bars["below"].show(lanes_rows.below(state, width, boxes["below"].height))
        self.list.fit(boxes["pane1"].width, boxes["pane1"].height)
        self.list.show_state(state)

    def on_resize(self) -> None:
        self.show(replace(self.state))

    @property
    def page(self) -> int:
        """The number of rows of a page."""
        return self.list.port.page
