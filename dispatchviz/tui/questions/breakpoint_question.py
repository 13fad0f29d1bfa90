"""The question for a breakpoint."""

from __future__ import annotations

from dataclasses import replace

from dispatchviz.tui.commands.stopping import NONE, toggle, told
from dispatchviz.tui.questions.question import Question
from dispatchviz.tui.session import Update
from dispatchviz.tui.text.styled_line import line


class BreakpointQuestion(Question):
    """Sets a breakpoint, or removes the one of that name; an empty answer removes all."""

    label = "Stop at"

    @property
    def hint(self) -> str:
        return "line 6, z, AddBackward0, torch.add, CUDA [if depth > 2] [ignore 3]"

    def opened(self) -> Update:
        now = self.session.cursor.breakpoints
        again = "the same again removes one, nothing removes all"
        note = line((told(now), "hint"), (f"  {again}", "dim")) if now else None
        return Update(self.session.cursor, note)

    def answered(self, text: str | None) -> Update:
        cursor = self.session.cursor
        if text is None:
            return Update(cursor)
        if not text.strip():
            return Update(replace(cursor, breakpoints=()), line((NONE, "hint")))
        return toggle(cursor, text)
