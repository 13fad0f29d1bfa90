"""The two questions that the stepper asks in the footer's place: which step, and what to search for."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.binding import Binding
from textual.widgets import Input

from dispatchviz.tui.cursor import Cursor


class Prompt(Input):
    """A line to type in. ``look`` is told every change, ``done`` the end: the text, or None after Esc."""

    BINDINGS = [Binding("escape", "leave", show=False)]  # noqa: RUF012 - as Textual declares it
    DEFAULT_CSS = "Prompt, Prompt:focus { border: none; height: 1; padding: 0; background: $panel; }"

    def __init__(self) -> None:
        super().__init__(id="prompt", disabled=True)
        self._look: Callable[[str], None] = lambda text: None
        self._done: Callable[[str | None], None] = lambda text: None
        self.display = False

    def ask(self, hint: str, look: Callable[[str], None], done: Callable[[str | None], None]) -> None:
        """Appears and takes the focus at once, so that what is typed right after the question's key is not lost."""
        self.placeholder, self._look, self._done = hint, look, done
        self.display, self.disabled = True, False
        with self.prevent(Input.Changed):
            self.value = ""
        self.screen.set_focus(self)

    def take(self, event: events.Key) -> bool:
        """A key that was typed before the question had appeared, and so went elsewhere; says whether it was for us."""
        if event.key == "enter":
            self._leave(self.value)
        elif event.key == "escape":
            self._leave(None)
        elif event.is_printable and event.character is not None:
            self.insert_text_at_cursor(event.character)
        else:
            return False
        return True

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._look(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._leave(event.value)

    def action_leave(self) -> None:
        self._leave(None)

    def _leave(self, text: str | None) -> None:
        self.display, self.disabled = False, True
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
