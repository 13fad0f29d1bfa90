"""The files that torchgen writes for an operator, over its generated code. The reader chooses one to read its C++."""

from __future__ import annotations

from itertools import groupby
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.codegen.codegen_card import files_in
from dispatchviz.explain.codegen.kept_texts import release
from dispatchviz.explain.codegen.torchgen_texts import Real
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.choice_list import ChoiceList
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.text.code_tokens import code
from dispatchviz.views.text.marked_console import MarkedConsole, spans
from dispatchviz.views.text.styled_line import Line, line


class FilesView(ChoiceList):
    """The rows of the files, under headings with their contents."""

    BINDINGS: ClassVar = [Binding("right", "go", show=False)]

    def __init__(self, operator: str, real: Real, palette: Palette) -> None:
        super().__init__(f"torchgen's files for {operator} (Enter reads one, Esc or q goes back)", palette)
        self._operator, self._real = operator, real

    def rows(self, width: int) -> list[Line]:
        found: list[Line] = []
        files = files_in(self._real, self._operator.removeprefix("aten::"))
        for what, group in groupby(files, lambda each: each.what):
            found.append(line((what, "dim"), cut=True))
            found += [line(f"{each.lines:6} ", (each.file, "path"), key=each.file, cut=True) for each in group]
        return found

    def can_be_chosen(self, row: Line) -> bool:
        return bool(row.key)

    def go(self, row: Line) -> None:
        self.app.push_screen(FileScreen(row.key, self._operator, self._real, self.palette))


class FileView(TextView):
    """The view of a C++ file, in colors."""

    def __init__(self, file: str, operator: str, real: Real, palette: Palette) -> None:
        short = file.rpartition("/")[2]
        super().__init__(f"{short}: PyTorch {release()} for {operator} (Esc or q goes back)", palette)
        self._code = real.text(file)

    def text(self) -> list[Line]:
        console = MarkedConsole(self.port.row_width)
        return [line(*spans(row), indent=8) for row in code(self._code, "cpp", console, 0)]


class FilesScreen(ModalScreen[None]):
    """The screen with the files, opened from the generated code of an operator."""

    BINDINGS: ClassVar = [Binding("escape,q,f,left,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "FilesScreen { align: center middle; } FilesView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, operator: str, real: Real, palette: Palette) -> None:
        super().__init__()
        self._view = FilesView(operator, real, palette)

    def compose(self) -> ComposeResult:
        yield self._view


class FileScreen(ModalScreen[None]):
    """The screen with one file, opened from the list."""

    BINDINGS: ClassVar = [Binding("escape,q,left,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "FileScreen { align: center middle; } FileView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, file: str, operator: str, real: Real, palette: Palette) -> None:
        super().__init__()
        self._view = FileView(file, operator, real, palette)

    def compose(self) -> ComposeResult:
        yield self._view
