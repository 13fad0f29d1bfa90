"""The registrations of a step's operator over the stepper, one by one, with their effects on the table."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.cells.registration.registration_history import RegistrationHistory
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.details.registration_rows import step_rows
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import Line


class RegistrationView(TextView):
    """The view of one registration at a time. The keys that step through a program step through registrations here."""

    BINDINGS: ClassVar = [
        Binding("right,s,l", "step(1)", show=False),
        Binding("left,S,h", "step(-1)", show=False),
        Binding("n", "own(1)", show=False),
        Binding("N", "own(-1)", show=False),
        Binding("home,g", "step(-1000000)", show=False),
        Binding("end,G", "step(1000000)", show=False),
    ]

    def __init__(self, history: RegistrationHistory, number: int, palette: Palette) -> None:
        super().__init__("", palette)
        self._history, self.number_shown = history, number

    @property
    def shown_title(self) -> str:
        history = self._history
        where = f"{history.operator}: registration {self.number_shown} of {len(history.steps)}"
        return f"{where}  (→ ← step, n N skip fallbacks, Esc closes)"

    def text(self) -> list[Line]:
        return list(step_rows(self._history, self.number_shown, self.port.row_width))

    def action_step(self, by: int) -> None:
        """Go forward or back by some registrations."""
        self._go(max(1, min(self.number_shown + by, len(self._history.steps))))

    def action_own(self, direction: int) -> None:
        """Go to the next or the previous registration of this operator alone, skipping fallbacks."""
        own = [step.number for step in self._history.steps if not step.kind.endswith("fallback")]
        ahead = [number for number in own[::direction] if (number - self.number_shown) * direction > 0]
        if ahead:
            self._go(ahead[0])

    def _go(self, number: int) -> None:
        self.number_shown = number
        self.port.top = 0
        self.fitted()


class RegistrationScreen(ModalScreen[Update | None]):
    """The screen with the registrations, opened from a step. The key that opened it and those that leave things close
    it.
    """

    BINDINGS: ClassVar = [Binding("escape,q,H,backspace", "dismiss", show=False)]
    DEFAULT_CSS = (
        "RegistrationScreen { align: center middle; } RegistrationView { width: 100%; height: 100%; padding: 0 1; }"
    )

    def __init__(self, history: RegistrationHistory, number: int, palette: Palette) -> None:
        super().__init__()
        self._view = RegistrationView(history, number, palette)

    def compose(self) -> ComposeResult:
        yield self._view
