"""The question for a search, which follows the input as it is typed."""

from __future__ import annotations

from dispatchviz.tui.commands.searching import counted, nearest, next_hit
from dispatchviz.tui.questions.asked import Question
from dispatchviz.views.keymap import key_of
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line


class SearchQuestion(Question):
    """Goes to the first hit while the query is typed; Esc comes back."""

    label = "Search"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._origin, self._query = session.cursor, session.search.query

    @property
    def hint(self) -> str:
        return 'words, "a phrase", key: op: node: tensor: line: file: event: says:'

    def typed(self, text: str) -> Update:
        self.session.search.find(text, self._origin.at)
        return nearest(self.session, self._origin)

    def answered(self, text: str | None) -> Update:
        search = self.session.search
        if text is None:
            search.find(self._query, self._origin.at)
            return Update(self._origin)
        if not text.strip():
            search.find("")
            return Update(self._origin, line((" No search", "hint")))
        if search.matches(self.session.cursor.at):
            keys = f"{key_of('search(True)').first} next  {key_of('search(False)').first} previous"
            return counted(self.session, self.session.cursor, keys)
        return next_hit(self.session, self._origin)
