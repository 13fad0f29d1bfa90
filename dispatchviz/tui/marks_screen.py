"""The list of marks: choose one to go there."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.tui.palette import Palette
from dispatchviz.tui.text import Line, line
from dispatchviz.tui.titled import TitledView


class MarksView(TitledView):
    """A row per mark, one of them chosen."""

    BINDINGS: ClassVar = [
        Binding("down,n,j,apostrophe", "choose(1)", show=False),
        Binding("up,N,k", "choose(-1)", show=False),
        Binding("enter,right,s", "go", show=False),
    ]

    def __init__(self, trace: Trace, names: dict[int, str], at: int, palette: Palette) -> None:
        super().__init__(0, "Marks (Enter goes there, Esc or q closes)")
        self._trace, self._names, self.palette = trace, list(names.items()), palette
        self.count = len(self._names)
        self._chosen = next((place for place, (step, _) in enumerate(self._names) if step >= at), self.count - 1)

    def on_resize(self) -> None:
        self.fit(*self.size)

    def fitted(self) -> None:
        self.reveal(self._chosen, 1)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        step, name = self._names[at]
        number = f"{step:>{len(str(len(self._trace) - 1))}} "
        here = at == self._chosen
        return line(("▶ " if here else "  ", "focus"), (number, "dim"), (f"{name}  " if name else "", "bold"),
                    (label(self._trace, step), ""))  # fmt: skip

    def row_base(self, at: int) -> Style:
        return self.palette.base + self.palette.highlight if at == self._chosen else self.palette.base

    def pointed_at(self, at: int) -> None:
        self._chosen = at
        self.action_go()

    def action_choose(self, by: int) -> None:
        self._chosen = (self._chosen + by) % self.count
        self.reveal(self._chosen, 1)
        self.refresh()

    def action_go(self) -> None:
        self.screen.dismiss(self._names[self._chosen][0])


class MarksScreen(ModalScreen[int | None]):
    """Over the stepper; gives the step that was chosen, or None."""

    BINDINGS: ClassVar = [Binding("escape,q,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "MarksScreen { align: center middle; } MarksView { width: 90%; height: 60%; padding: 0 1; }"

    def __init__(self, trace: Trace, names: dict[int, str], at: int, palette: Palette) -> None:
        super().__init__()
        self._view = MarksView(trace, names, at, palette)

    def compose(self) -> ComposeResult:
        yield self._view
