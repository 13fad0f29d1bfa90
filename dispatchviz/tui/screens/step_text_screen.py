"""The full text of one step over the stepper: its sentence, the message of an error, the rule, raw key sets."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import rule
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.panes.key_set_pane import raw_rows
from dispatchviz.views.screen_bars import message_lines, rule_lines, sentence_at, sentence_spans
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import Line, line


def step_text(trace: Trace, at: int) -> list[Line]:
    """The text of a step."""
    event, sentence = trace[at], sentence_at(trace, at)
    message = message_lines(event, sentence)
    return [
        *(line(*part) for part in sentence_spans(sentence)),
        *([line(), *message] if message else []),
        line(),
        *rule_lines(rule(event)),
        *([line(), *raw] if (raw := raw_rows(trace, at)) else []),
    ]


class StepTextView(TextView):
    """The view of the text, at its full width."""

    def __init__(self, trace: Trace, at: int, palette: Palette) -> None:
        super().__init__(f"Step {at} (Esc or q closes)", palette)
        self._trace, self._at = trace, at

    def text(self) -> list[Line]:
        return step_text(self._trace, self._at)


class StepTextScreen(ModalScreen[Update | None]):
    """The screen with the text, opened from a step. The key that opened it and those that leave things close it."""

    BINDINGS: ClassVar = [Binding("escape,q,w,enter,backspace", "dismiss", show=False)]
    DEFAULT_CSS = "StepTextScreen { align: center middle; } StepTextView { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, trace: Trace, at: int, palette: Palette) -> None:
        super().__init__()
        self._view = StepTextView(trace, at, palette)

    def compose(self) -> ComposeResult:
        yield self._view
