"""The two questions that the stepper asks in the footer's place: which step, and what to search for."""

from __future__ import annotations

from collections.abc import Callable

from textual.binding import Binding
from textual.widgets import Input

from dispatchviz.tui.cursor import Cursor


class Prompt(Input):
    """A line to type in. ``look`` is told every change, ``done`` the end: the text, or None after Esc."""

    BINDINGS = [Binding("escape", "leave", show=False)]  # noqa: RUF012 - as Textual declares it
    DEFAULT_CSS = "Prompt, Prompt:focus { border: none; height: 1; padding: 0; background: $panel; }"

    def __init__(self, sign: str, hint: str, look: Callable[[str], None], done: Callable[[str | None], None]) -> None:
        super().__init__(placeholder=hint, id="prompt")
        self.sign, self._look, self._done = sign, look, done

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._look(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._leave(event.value)

    def action_leave(self) -> None:
        self._leave(None)

    def _leave(self, text: str | None) -> None:
        self.remove()
        self._done(text)


def step_named(text: str, cursor: Cursor) -> int | None:
    """The step that ``37``, ``+10``, ``-10`` or ``50%`` names; None if it names none."""
    text = text.strip().replace(" ", "")
    digits = text.lstrip("+-").removesuffix("%")
    if not (digits.isascii() and digits.isdigit()):
        return None
    if text.endswith("%"):
        return cursor.last_step * int(digits) // 100 if text[0] not in "+-" else None
    return cursor.at + int(text) if text[0] in "+-" else int(text)
