"""A teacher's offer, as the command line passes it to the process of a session."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """The kind of a file."""

    LESSON = "lesson"
    SCRIPT = "script"
    TRACE = "trace"


class Offered(msgspec.Struct, frozen=True):
    """A file of the teacher's that a session may open."""

    kind: Kind
    path: str
    name: str
    shows: str = ""
    """A description of the content in one line."""


class Offer(msgspec.Struct, frozen=True):
    """Everything that a session may use."""

    files: tuple[Offered, ...]
    answers: str = ""
    """The file for the answers of this session; empty if answers are not kept."""

    def encoded(self) -> str:
        """Encode the offer as one word of a command line."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def decoded(word: str) -> Offer:
        """Decode a word that ``encoded`` returned."""
        return msgspec.json.decode(word, type=Offer)
