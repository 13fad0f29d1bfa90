"""The question for the number of a step."""

from __future__ import annotations

from dispatchviz.tui.commands.moves import goto
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.questions.question import Question
from dispatchviz.tui.session import Update
from dispatchviz.tui.text.styled_line import line


class StepQuestion(Question):
    """Goes to a step by its number."""

    label = "Step"

    @property
    def hint(self) -> str:
        return f"a step from 0 to {self.session.cursor.last_step}, or +10, -10, 50%"

    def answered(self, text: str | None) -> Update:
        step = None if text is None else step_named(text, self.session.cursor)
        if step is not None:
            return goto(self.session, step)
        wrong = f" {text} is no step: write 37, +10, -10 or 50%"
        return Update(self.session.cursor, line((wrong, "warning")) if text else None)


def step_named(text: str, cursor: Cursor) -> int | None:
    """The step that ``37``, ``+10``, ``-10`` or ``50%`` names; None if it names none."""
    text = text.strip().replace(" ", "")
    digits = text.lstrip("+-").removesuffix("%")
    if not (digits.isascii() and digits.isdigit()):
        return None
    if text.endswith("%"):
        return cursor.last_step * int(digits) // 100 if text[0] not in "+-" else None
    return cursor.at + int(text) if text[0] in "+-" else int(text)
