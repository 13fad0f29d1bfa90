"""What a teacher offers, as the command line hands it to the process of a session."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What a file is."""

    LESSON = "lesson"
    SCRIPT = "script"
    TRACE = "trace"


class Offered(msgspec.Struct, frozen=True):
    """A file of the teacher's that a session may open."""

    kind: Kind
    path: str
    name: str
    shows: str = ""
    """What there is to see, in one line."""


class Offer(msgspec.Struct, frozen=True):
    """All that there is for one session."""

    files: tuple[Offered, ...]
    answers: str = ""
    """The file that keeps the answers of this session; empty if they are not kept."""

    def encoded(self) -> str:
        """As one word of a command line."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def decoded(word: str) -> Offer:
        """What ``encoded`` gave."""
        return msgspec.json.decode(word, type=Offer)
