"""The part of a question that the input line needs, in the stepper and on the home screen."""

from __future__ import annotations

from typing import Generic, TypeVar

Reply = TypeVar("Reply")
"""The type of the reply to an answer."""


class Asked(Generic[Reply]):
    """A question in the bottom row. Each of its methods returns a reply for the application to show."""

    label = ""
    """The text before the input."""

    @property
    def hint(self) -> str:
        """The hint on what to type, shown while the input is empty."""
        raise NotImplementedError

    def opened(self) -> Reply:
        """Return the reply when the question appears."""
        raise NotImplementedError

    def typed(self, text: str) -> Reply | None:
        """Return the reply to a change of the input; None if nothing changes."""
        return None

    def completed(self, text: str) -> str | None:
        """Complete the typed text for Tab; None if this question does not handle Tab."""
        return None

    def answered(self, text: str | None) -> Reply:
        """Return the reply to Enter; after Esc, ``text`` is None."""
        raise NotImplementedError
