"""The question for the name of a mark that was just set."""

from __future__ import annotations

from dispatchviz.tui.questions.asked import Question
from dispatchviz.views.replies import UNMARKED, marked
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line


class MarkQuestion(Question):
    """Marks the step of the cursor, then names the mark."""

    label = "Name"

    @property
    def hint(self) -> str:
        return "of this mark, or just Enter"

    def opened(self) -> Update:
        cursor = self.session.cursor.toggle_mark()
        self.session.marks.set(cursor.at, "")
        return Update(cursor)

    def answered(self, text: str | None) -> Update:
        cursor = self.session.cursor
        failure = self.session.marks.set(cursor.at, (text or "").strip())
        return Update(cursor, mark_note(marked(), failure))


def mark_note(text: str, failure: str) -> Line:
    """A note on a mark, with what went wrong when it was saved; empty if nothing did."""
    return line((text, "hint"), (f"  ({failure})" if failure else "", "warning"))


def toggle_mark(session: Session) -> Update | MarkQuestion:
    """Removes the mark of this step; without one the question comes that sets it."""
    cursor = session.cursor
    if cursor.at not in cursor.marks:
        return MarkQuestion(session)
    failure = session.marks.remove(cursor.at)
    return Update(cursor.toggle_mark(), mark_note(UNMARKED, failure))
