"""The classes of an operator's structured kernel over its generated code: the text of ``codegen OP --structured``."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.codegen.structured_classes import Family
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.cards.structured_text import structured_lines
from dispatchviz.views.text.marked_console import MarkedConsole, spans
from dispatchviz.views.text.styled_line import Line, line


class StructuredView(TextView):
    """The view of the classes, their members and the three entries."""

    def __init__(self, family: Family, palette: Palette) -> None:
        super().__init__(f"Structured kernel of {', '.join(family.operators.values())} (Esc or q goes back)", palette)
        self._family = family

    def text(self) -> list[Line]:
        _, *rows = structured_lines(self._family, MarkedConsole(self.port.row_width))
        return [line(*spans(row), indent=8) for row in rows]


class StructuredScreen(ModalScreen[None]):
    """The screen with the classes, opened from the generated code of an operator."""

    BINDINGS: ClassVar = [Binding("escape,q,K,left,backspace", "dismiss", show=False)]
    DEFAULT_CSS = (
        "StructuredScreen { align: center middle; } StructuredView { width: 100%; height: 100%; padding: 0 1; }"
    )

    def __init__(self, family: Family, palette: Palette) -> None:
        super().__init__()
        self._view = StructuredView(family, palette)

    def compose(self) -> ComposeResult:
        yield self._view
