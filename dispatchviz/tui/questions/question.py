"""What the input line needs to know of a question."""

from __future__ import annotations

from dispatchviz.tui.session import Session, Update


class Question:
    """A question on the bottom line. Each of its methods returns what the stepper then shows."""

    label = ""
    """The text before the input."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def hint(self) -> str:
        """What may be typed, shown while nothing is."""
        raise NotImplementedError

    def opened(self) -> Update:
        """As the question appears."""
        return Update(self.session.cursor)

    def typed(self, text: str) -> Update | None:
        """After each change of the input; None: nothing changes."""
        return None

    def answered(self, text: str | None) -> Update:
        """After Enter; after Esc the text is None."""
        raise NotImplementedError
