"""The question for a filter."""

from __future__ import annotations

from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.questions.question import Question
from dispatchviz.tui.session import Update
from dispatchviz.tui.text.styled_line import line


class FilterQuestion(Question):
    """Shows only some steps; an empty answer shows all again."""

    label = "Show only"

    @property
    def hint(self) -> str:
        return "words of the steps to show; nothing: all steps"

    def answered(self, text: str | None) -> Update:
        cursor = self.session.cursor
        if text is None:
            return Update(cursor)
        hits = self.session.search.hits(text)
        if text.strip() and not hits:
            stays = "all steps stay" if cursor.shown is None else f"the filter stays {cursor.filter_text}"
            return Update(cursor, line((f" No step has {text}: {stays}", "warning")))
        key = key_of("ask_filter").first
        note = f" {len(hits)} steps with {text}; {key} and Enter show all again" if hits else " All steps"
        return Update(cursor.filtered(hits or None, text.strip()), line((note, "hint")))
