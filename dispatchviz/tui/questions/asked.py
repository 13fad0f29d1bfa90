"""Questions on the input line: the fields that it needs, and the base class of the stepper's questions."""

from __future__ import annotations

from typing import Generic, TypeVar

from dispatchviz.views.session import Session, Update

Reply = TypeVar("Reply")
"""What comes of an answer."""


class Asked(Generic[Reply]):
    """A question on the bottom line. Each of its methods returns what the application then shows."""

    label = ""
    """The text before the input."""

    @property
    def hint(self) -> str:
        """What may be typed, shown while nothing is."""
        raise NotImplementedError

    def opened(self) -> Reply:
        """As the question appears."""
        raise NotImplementedError

    def typed(self, text: str) -> Reply | None:
        """After each change of the input; None: nothing changes."""
        return None

    def completed(self, text: str) -> str | None:
        """The text that Tab makes of what is typed; None if Tab is no key of this question."""
        return None

    def answered(self, text: str | None) -> Reply:
        """After Enter; after Esc the text is None."""
        raise NotImplementedError


class Question(Asked[Update]):
    """A question about a session; what it returns is shown by the stepper."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def opened(self) -> Update:
        """As the question appears."""
        return Update(self.session.cursor)
