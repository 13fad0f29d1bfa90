"""The question for a filter."""

from __future__ import annotations

from dispatchviz.explain.sentences.step_counts import part_of
from dispatchviz.tui.commands.move_notes import nothing_has
from dispatchviz.tui.questions.asked import Question
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.step_search import Search
from dispatchviz.views.cursor.typed_text import repeated
from dispatchviz.views.replies import ALL_STAY, ALL_STEPS, filtered
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import line


class FilterQuestion(Question):
    """Shows only some steps; an empty answer shows all again."""

    label = "Show only"

    @property
    def hint(self) -> str:
        return "words, or key: op: node: tensor: line: file: event: says:; nothing: all"

    def answered(self, text: str | None) -> Update:
        cursor = self.session.cursor
        if text is None:
            return Update(cursor)
        if not text.strip():
            return Update(cursor.filtered(None), line((ALL_STEPS, "hint")))
        search = Search(cursor.trace)
        search.find(text, cursor.at)
        return _filtered(cursor, search)


def _filtered(cursor: Cursor, search: Search) -> Update:
    """The filter once all steps are known that it lets through; until then how far that is."""
    if search.go_on():
        note = f" Looking for all steps with {repeated(search.query)}: {search.percent} %"
        return Update(cursor, line((note, "hint")), goes_on=lambda: _filtered(cursor, search))
    hits = search.hits()
    if not hits:
        stays = ALL_STAY if not cursor.filter_text else f"the filter stays {cursor.filter_text}"
        return Update(cursor, line((f" {nothing_has(cursor.trace, search.query)}: {stays}", "warning")))
    note = filtered(part_of(len(hits), len(cursor.trace)), repeated(search.query))
    return Update(cursor.filtered(hits, search.query.strip()), line((note, "hint")))
