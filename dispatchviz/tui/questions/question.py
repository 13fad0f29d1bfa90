"""The base class of the stepper's questions. It is separate from ``asked.py`` because the home screen loads no
session.
"""

from __future__ import annotations

from dispatchviz.tui.questions.asked import Asked
from dispatchviz.views.session import Session, Update


class Question(Asked[Update]):
    """A question about a session; the stepper shows its updates."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def opened(self) -> Update:
        """Return the update when the question appears."""
        return Update(self.session.cursor)
