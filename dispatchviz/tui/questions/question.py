"""The base class of the stepper's questions. It is apart from ``asked.py``, since the home screen loads no session."""

from __future__ import annotations

from dispatchviz.tui.questions.asked import Asked
from dispatchviz.views.session import Session, Update


class Question(Asked[Update]):
    """A question about a session; what it returns is shown by the stepper."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def opened(self) -> Update:
        """As the question appears."""
        return Update(self.session.cursor)
