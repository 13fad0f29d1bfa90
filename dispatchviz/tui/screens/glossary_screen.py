"""The glossary over the stepper, with the terms of this step first."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.details.glossary_rows import glossary_rows
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import Line


class GlossaryView(TextView):
    """The view of the text, at its full width."""

    def __init__(self, trace: Trace, at: int, palette: Palette) -> None:
        super().__init__("Glossary (Esc or q closes)", palette)
        self._trace, self._at = trace, at

    def text(self) -> list[Line]:
        return glossary_rows(self._trace, self._at)


class GlossaryScreen(ModalScreen[Update | None]):
    """The screen with the glossary, opened from a step. The key that opened it and those that leave things close it."""

    BINDINGS: ClassVar = [Binding("escape,q,V,enter,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "GlossaryScreen { align: center middle; } GlossaryView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, trace: Trace, at: int, palette: Palette) -> None:
        super().__init__()
        self._view = GlossaryView(trace, at, palette)

    def compose(self) -> ComposeResult:
        yield self._view
