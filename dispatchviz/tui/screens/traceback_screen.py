"""Python's traceback of an error over the stepper, with PyTorch's whole message at its end."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.tui.session import Update
from dispatchviz.tui.text.palette import Palette
from dispatchviz.tui.text.styled_line import Line, line
from dispatchviz.tui.widgets.text_view import TextView


def traceback_rows(text: str) -> list[Line]:
    """The text, where it says where in bold: the program's own lines and the message are what is read."""
    return [_row(row) for row in text.rstrip("\n").split("\n")]


def _row(text: str) -> Line:
    inside = len(text) - len(text.lstrip())
    return line((text, "dim" if text.startswith("  File ") else "bold"), indent=inside + 2)


class TracebackView(TextView):
    """The text, as wide as the view."""

    def __init__(self, text: str, palette: Palette) -> None:
        super().__init__("Python's traceback (Esc or q closes)", palette)
        self._text = text

    def text(self) -> list[Line]:
        return traceback_rows(self._text)


class TracebackScreen(ModalScreen[Update | None]):
    """Opened from a step; the key that opened it and those that leave things close it."""

    BINDINGS: ClassVar = [Binding("escape,q,t,enter,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "TracebackScreen { align: center middle; } TracebackView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, text: str, palette: Palette) -> None:
        super().__init__()
        self._view = TracebackView(text, palette)

    def compose(self) -> ComposeResult:
        yield self._view
