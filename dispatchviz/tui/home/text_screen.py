"""A text over another screen: the output of a command, a program, the help."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.text.styled_line import Line


class TextOverHome(TextView):
    """The view of the text, at its full width."""

    def __init__(self, title: str, make: Callable[[int], list[Line]], palette: Palette) -> None:
        super().__init__(f"{title} (Esc or q closes)", palette)
        self._make = make

    def text(self) -> list[Line]:
        return self._make(self.port.row_width)


class TextScreen(ModalScreen[None]):
    """The screen with the text. The keys that leave things close it."""

    BINDINGS: ClassVar = [Binding("escape,q,v,question_mark,f1,backspace,left", "dismiss", show=False)]
    DEFAULT_CSS = "TextScreen { align: center middle; } TextOverHome { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, title: str, make: Callable[[int], list[Line]], palette: Palette) -> None:
        super().__init__()
        self._view = TextOverHome(title, make, palette)

    def compose(self) -> ComposeResult:
        yield self._view


class Text(Struct, frozen=True):
    """The request to open a text over the screen."""

    title: str
    rows: Callable[[int], list[Line]]
    """A function that returns the rows for a width."""
