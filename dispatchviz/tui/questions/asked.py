"""The fields of a question that the input line needs, in the stepper and on the home screen."""

from __future__ import annotations

from typing import Generic, TypeVar

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
