"""The question for a filter."""

from __future__ import annotations

from dispatchviz.explain.sentences.step_counts import part_of
from dispatchviz.tui.commands.move_notes import nothing_has
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.cursor.step_search import Search
from dispatchviz.tui.cursor.typed_text import repeated
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.questions.question import Question
from dispatchviz.tui.session import Update
from dispatchviz.tui.text.styled_line import line


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
            return Update(cursor.filtered(None), line((ALL, "hint")))
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
        stays = STAY if not cursor.filter_text else f"the filter stays {cursor.filter_text}"
        return Update(cursor, line((f" {nothing_has(cursor.trace, search.query)}: {stays}", "warning")))
    note = kept(part_of(len(hits), len(cursor.trace)), repeated(search.query))
    return Update(cursor.filtered(hits, search.query.strip()), line((note, "hint")))


ALL, STAY = " All steps", "all steps stay"


def kept(steps: str, query: str) -> str:
    """How many steps a filter lets through: ``3 of 326 steps``."""
    return f" {steps} with {query}; {key_of('ask_filter').first} and Enter show all again"
