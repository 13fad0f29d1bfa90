"""Python's traceback of an error over the stepper, with PyTorch's whole message at its end."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.details.traceback_rows import traceback_rows
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import Line


class TracebackView(TextView):
    """The view of the text, at its full width."""

    def __init__(self, text: str, palette: Palette) -> None:
        super().__init__("Python's traceback (Esc or q closes)", palette)
        self._text = text

    def text(self) -> list[Line]:
        return traceback_rows(self._text)


class TracebackScreen(ModalScreen[Update | None]):
    """The screen with the traceback, opened from a step. The key that opened it and those that leave things close
    it.
    """

    BINDINGS: ClassVar = [Binding("escape,q,t,enter,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "TracebackScreen { align: center middle; } TracebackView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, text: str, palette: Palette) -> None:
        super().__init__()
        self._view = TracebackView(text, palette)

    def compose(self) -> ComposeResult:
        yield self._view
