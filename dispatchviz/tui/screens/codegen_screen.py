"""The generated code of an operator over the stepper: the text of ``codegen OP``, in the theme's colors."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.core.table.pytorch_registrations import chosen_build, pytorch_registry
from dispatchviz.explain.codegen.codegen_card import codegen_card
from dispatchviz.explain.codegen.kept_texts import kept
from dispatchviz.explain.codegen.structured_classes import family_of
from dispatchviz.tui.screens.generated_files_screen import FilesScreen
from dispatchviz.tui.screens.structured_screen import StructuredScreen
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.cards.codegen_text import codegen_lines
from dispatchviz.views.session import Update
from dispatchviz.views.text.marked_console import MarkedConsole, spans
from dispatchviz.views.text.styled_line import Line, line

FILES, CLASSES = "f", "K"
"""The keys that list the files and that show the classes of a structured kernel."""


@lru_cache(maxsize=8)
def codegen_rows(operator: str, width: int) -> list[Line]:
    """The text for an operator of PyTorch."""
    build = chosen_build()
    card = codegen_card(pytorch_registry(build).find(operator), build)
    return [line(*spans(text), indent=8) for text in codegen_lines(card, MarkedConsole(width))]


class CodegenView(TextView):
    """The view of the text, at its full width."""

    def __init__(self, operator: str, files: bool, structured: bool, palette: Palette) -> None:
        more = f"{FILES} files, " if files else ""
        more += f"{CLASSES} classes, " if structured else ""
        super().__init__(f"Generated code of {operator} ({more}Esc or q closes)", palette)
        self._operator = operator

    def text(self) -> list[Line]:
        return codegen_rows(self._operator, self.port.row_width)


class CodegenScreen(ModalScreen[Update | None]):
    """The screen with the text, opened from a step. The key that opened it and those that leave things close it."""

    BINDINGS: ClassVar = [
        Binding("escape,q,v,backspace", "dismiss", show=False),
        Binding(f"{FILES},enter", "files", show=False),
        Binding(CLASSES, "classes", show=False),
    ]
    DEFAULT_CSS = "CodegenScreen { align: center middle; } CodegenView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, operator: str, palette: Palette) -> None:
        super().__init__()
        self._operator, self._palette = operator, palette
        self._texts = kept(operator.removeprefix("aten::"))
        self._family = family_of(operator.removeprefix("aten::"))
        self._view = CodegenView(operator, self._texts is not None, self._family is not None, palette)

    def compose(self) -> ComposeResult:
        yield self._view

    def action_files(self) -> None:
        """List the files, if their texts are stored."""
        if self._texts is not None:
            self.app.push_screen(FilesScreen(self._operator, self._texts, self._palette))

    def action_classes(self) -> None:
        """Show the classes of the structured kernel, if there is one."""
        if self._family is not None:
            self.app.push_screen(StructuredScreen(self._family, self._palette))
