"""The question for the number of a step."""

from __future__ import annotations

import re

from dispatchviz.tui.commands.moves import goto
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.cursor.typed_text import repeated, whole_number
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
        if not text:
            return Update(self.session.cursor)
        step = step_named(text, self.session.cursor)
        if step is not None:
            return goto(self.session, step)
        wrong = f" {repeated(text)} is no step: write 37, +10, -10 or 50%"
        return Update(self.session.cursor, line((wrong, "warning")))


def step_named(text: str, cursor: Cursor) -> int | None:
    """The step that ``37``, ``+10``, ``-10`` or ``50%`` names; None if it names none."""
    named = NAMED.fullmatch(text.replace(" ", ""))
    if named is None or (named["sign"] and named["percent"]):
        return None
    number = whole_number(named["digits"])
    if named["percent"]:
        return cursor.last_step * number // 100
    return {"": number, "+": cursor.at + number, "-": cursor.at - number}[named["sign"]]


NAMED = re.compile(r"(?P<sign>[+-]?)(?P<digits>[0-9]+)(?P<percent>%?)")
"""Of the digits that there are, Python's ``int`` takes those of all scripts; a step has ASCII ones."""
