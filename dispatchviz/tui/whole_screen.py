"""All that there is to say of one step, over the stepper: its sentence, the message of an error, the rule."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.step_sentences import rule, why_here
from dispatchviz.tui.palette import Palette
from dispatchviz.tui.text import Line, line
from dispatchviz.tui.text_view import TextView
from dispatchviz.tui.why_bar import message_lines, rule_lines


def whole_rows(trace: Trace, at: int) -> list[Line]:
    """The text of a step."""
    event, said = trace[at], why_here(trace, at)
    message = message_lines(event, said)
    return [
        line((said, "bold")),
        *([line(), *message] if message else []),
        line(),
        *rule_lines(rule(event)),
    ]


class WholeView(TextView):
    """The text, as wide as the view."""

    def __init__(self, trace: Trace, at: int, palette: Palette) -> None:
        super().__init__(f"Step {at} (Esc or q closes)", palette)
        self._trace, self._at = trace, at

    def text(self) -> list[Line]:
        return whole_rows(self._trace, self._at)


class WholeScreen(ModalScreen[None]):
    """Opened from a step; the key that opened it and those that leave things close it."""

    BINDINGS: ClassVar = [Binding("escape,q,w,enter,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "WholeScreen { align: center middle; } WholeView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, trace: Trace, at: int, palette: Palette) -> None:
        super().__init__()
        self._view = WholeView(trace, at, palette)

    def compose(self) -> ComposeResult:
        yield self._view
