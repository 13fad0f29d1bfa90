"""The input line at the bottom, where questions are answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input

from dispatchviz.foundation.shown_text import shown
from dispatchviz.tui.questions.asked import Asked

EDITS = {key: edit.action for edit in Input.BINDINGS if isinstance(edit, Binding) for key in edit.key.split(",")}
"""The effects on the line of keys that are not text."""


class Prompt(Input):
    """The input line. It receives its keys from ``TypedKeys`` one by one, so that fast typing arrives complete and in
    order.

    ``home`` gets the focus after a question that was asked while no widget had the focus.
    """

    DEFAULT_CSS = "Prompt, Prompt:focus { border: none; height: 1; padding: 0; background: $panel; }"

    def __init__(self, home: Widget) -> None:
        super().__init__(id="prompt", disabled=True)
        self.question: Asked[Any] | None = None
        """The open question."""
        self._home = self._focus_before = home
        self._show: Callable[[Any], None] = lambda update: None
        self._seen = ""
        self.display = False

    @property
    def label(self) -> str:
        """The text before the input; empty while no question is open."""
        return f" {self.question.label}: " if self.question else ""

    def ask(self, question: Asked[Any], show: Callable[[Any], None], text: str = "") -> None:
        """Open a question with a text to edit, and take the focus. ``show`` receives the replies of the question."""
        self.question, self._show = question, show
        self._focus_before = self.screen.focused or self._home
        show(question.opened())
        self.placeholder = question.hint
        self.display, self.disabled = True, False
        self.value = self._seen = text
        self.cursor_position = len(text)
        self.screen.set_focus(self)

    async def take(self, event: events.Key) -> bool:
        """Handle a key while the question is open. Return False for a key that the input line does not use."""
        if event.key in ("enter", "escape"):
            self._leave(self.value if event.key == "enter" else None)
        elif event.key == "tab" and self.question and (text := self.question.completed(self.value)) is not None:
            self.value, self.cursor_position = text, len(text)
        elif event.key in EDITS:
            await self.run_action(EDITS[event.key])
        elif event.is_printable and event.character is not None:
            self.insert_text_at_cursor(event.character)
        else:
            return False
        self._changed()
        return True

    def paste(self, text: str) -> None:
        """Insert the first line of a pasted text, with control characters made visible."""
        self.insert_text_at_cursor(shown(next(iter(text.splitlines()), "")))
        self._changed()

    def _changed(self) -> None:
        if self.question is not None and self.value != self._seen:
            self._seen = self.value
            if (update := self.question.typed(self.value)) is not None:
                self._show(update)

    def _leave(self, text: str | None) -> None:
        question, self.question = self.question, None
        self.display, self.disabled = False, True
        self._focus_before.focus()
        if question is not None:
            self._show(question.answered(text))
