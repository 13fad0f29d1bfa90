"""The line in the footer's place in which the stepper's questions are answered."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.binding import Binding
from textual.widgets import Input

from dispatchviz.tui.cursor import Cursor

EDITS = {key: edit.action for edit in Input.BINDINGS if isinstance(edit, Binding) for key in edit.key.split(",")}
"""What keys that are no text do to the line."""


class Prompt(Input):
    """A line to type in. ``look`` is told every change, ``done`` the end: the text, or None after Esc.

    Keys come from the application, one after the other (``app.py``), and each has had its effect when the next one
    comes: what is typed fast arrives whole and in its order.
    """

    DEFAULT_CSS = "Prompt, Prompt:focus { border: none; height: 1; padding: 0; background: $panel; }"

    def __init__(self) -> None:
        super().__init__(id="prompt", disabled=True)
        self._look: Callable[[str], None] = lambda text: None
        self._done: Callable[[str | None], None] = lambda text: None
        self._told = ""
        self.display = False

    def ask(self, hint: str, look: Callable[[str], None], done: Callable[[str | None], None]) -> None:
        """Appears, empty, and takes the focus."""
        self.placeholder, self._look, self._done = hint, look, done
        self.display, self.disabled = True, False
        self.value = self._told = ""
        self.screen.set_focus(self)

    async def take(self, event: events.Key) -> bool:
        """A key while the question is open; says whether it was for us."""
        if event.key in ("enter", "escape"):
            self._leave(self.value if event.key == "enter" else None)
        elif event.key in EDITS:
            await self.run_action(EDITS[event.key])
        elif event.is_printable and event.character is not None:
            self.insert_text_at_cursor(event.character)
        else:
            return False
        self._tell()
        return True

    def paste(self, text: str) -> None:
        """The first line of a pasted text."""
        self.insert_text_at_cursor(next(iter(text.splitlines()), ""))
        self._tell()

    def _tell(self) -> None:
        if self.display and self.value != self._told:
            self._told = self.value
            self._look(self.value)

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
