"""The question for a breakpoint."""

from __future__ import annotations

from dataclasses import replace

from dispatchviz.tui.commands.stopping import toggle, told
from dispatchviz.tui.questions.asked import Question
from dispatchviz.views.replies import NO_BREAKPOINTS
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import line


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
            return Update(replace(cursor, breakpoints=()), line((NO_BREAKPOINTS, "hint")))
        return toggle(cursor, text)
