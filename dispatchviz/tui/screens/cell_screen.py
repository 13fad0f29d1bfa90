"""The explanation of a dispatch table entry over the stepper: the text of ``why OP KEY``."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.pytorch_registrations import chosen_build, pytorch_registry
from dispatchviz.explain.cells.why_cell import cell_answer
from dispatchviz.explain.things.thing import CellThing
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.cards.why_text import why_lines
from dispatchviz.views.session import Update
from dispatchviz.views.text.marked_console import MarkedConsole, spans
from dispatchviz.views.text.styled_line import Line, line


@lru_cache(maxsize=8)
def cell_rows(cell: CellThing, width: int) -> list[Line]:
    """The text for an entry of PyTorch's own table."""
    build = chosen_build()
    registry = pytorch_registry(build)
    answer = cell_answer(registry.find(cell.operator), DispatchKey[cell.key], registry)
    return [line(*spans(text)) for text in why_lines(answer, build, MarkedConsole(width))]


class CellView(TextView):
    """The view of the text, at its full width."""

    def __init__(self, cell: CellThing, palette: Palette) -> None:
        super().__init__(f"why {cell.operator} {cell.key} (Esc or q closes)", palette)
        self._cell = cell

    def text(self) -> list[Line]:
        return cell_rows(self._cell, self.port.row_width)


class CellScreen(ModalScreen[Update | None]):
    """The screen with the text, opened from a row of the table. The keys that open it and those that leave things close
    it.
    """

    BINDINGS: ClassVar = [Binding("escape,q,enter,i,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "CellScreen { align: center middle; } CellView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, cell: CellThing, palette: Palette) -> None:
        super().__init__()
        self._view = CellView(cell, palette)

    def compose(self) -> ComposeResult:
        yield self._view
