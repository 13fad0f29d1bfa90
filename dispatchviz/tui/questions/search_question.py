"""The question for a search, which follows the input as it is typed."""

from __future__ import annotations

from dispatchviz.tui.commands.move_notes import hit_note
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.questions.question import Question
from dispatchviz.tui.session import Session, Update


class SearchQuestion(Question):
    """Goes to the first hit while the query is typed; Esc comes back."""

    label = "Search"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._origin, self._query = session.cursor, session.search.query

    @property
    def hint(self) -> str:
        return "words of a step: redispatch, AutogradCUDA, NodeCreated ..."

    def typed(self, text: str) -> Update:
        search = self.session.search
        search.find(text)
        found = self._origin.search(search.matches) if text.strip() else self._origin
        return Update(found, hit_note(search, found))

    def answered(self, text: str | None) -> Update:
        if text is None:
            self.session.search.find(self._query)
            return Update(self._origin)
        keys = f"{key_of('search(True)').first} next  {key_of('search(False)').first} previous"
        return Update(self.session.cursor, hit_note(self.session.search, self.session.cursor, keys))

    def prepare(self) -> bool:
        """Makes the texts that are searched, between the keys."""
        return self.session.search.prepare()
