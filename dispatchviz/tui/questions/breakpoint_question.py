"""The question for a breakpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dispatchviz.tui.cursor.breakpoints import Breakpoint, breakpoint_named, refusal
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.questions.question import Question
from dispatchviz.tui.session import Update
from dispatchviz.tui.text.styled_line import line


class BreakpointQuestion(Question):
    """Sets a breakpoint, or removes the one of that name; an empty answer removes all."""

    label = "Stop at"

    @property
    def hint(self) -> str:
        return "37, NodeCreated, add or AutogradCPU; again: off; nothing: all off"

    def opened(self) -> Update:
        now = self.session.cursor.breakpoints
        return Update(self.session.cursor, line((_listed(now), "hint")) if now else None)

    def answered(self, text: str | None) -> Update:
        cursor = self.session.cursor
        if text is None:
            return Update(cursor)
        if not text.strip():
            return Update(replace(cursor, breakpoints=()), line((" No breakpoints", "hint")))
        found = breakpoint_named(text, cursor.trace)
        if found is None:
            return Update(cursor, line((f" {refusal(text, cursor.trace)}", "warning")))
        others = tuple(each for each in cursor.breakpoints if each != found)
        now = others if found in cursor.breakpoints else (*others, found)
        return Update(replace(cursor, breakpoints=now), line((_listed(now), "hint")))


def _listed(breakpoints: Sequence[Breakpoint]) -> str:
    if not breakpoints:
        return " No breakpoints"
    resume = key_of("move('resume')").first
    return f" {resume} stops at {', '.join(map(str, breakpoints))}"
