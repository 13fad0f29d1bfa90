"""What a reader searches for: words, "phrases" in quotes, fields as ``key:CUDA``; a step must have all of them.

A field is one of ``FIELDS`` and a colon; every other text with a colon is a word, ``aten::add`` for one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FIELDS = ("key", "op", "node", "tensor", "line", "file", "event", "says")
"""``says``: words of the sentence of a step; the others are in ``search_fields.py``."""

TERM = re.compile(rf'(?:(?P<field>{"|".join(FIELDS)}):)?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))', re.IGNORECASE)

PLACE = re.compile(r":[0-9]+$")
"""How a word ends that is the place of a line: ``forum.py:6``."""


@dataclass(frozen=True)
class Query:
    """What was typed, term by term, in lower case but for values of fields."""

    texts: tuple[str, ...] = ()
    """Words and phrases."""
    fields: tuple[tuple[str, str], ...] = ()
    """Name and value."""

    def __bool__(self) -> bool:
        return bool(self.texts or self.fields)

    def narrows(self, other: Query) -> bool:
        """Return whether a step that has not what another query asks for cannot have what this one does."""
        if self.fields != other.fields or any(map(PLACE.search, self.texts)):
            return False  # the beginning of a place is a word, which is not looked for in places
        return all(any(text in each for each in self.texts) for text in other.texts)


def query_of(text: str) -> Query:
    """The terms of a text. Of a field that is just being typed, and of an empty phrase, nothing is asked yet."""
    texts, fields, begun = list[str](), [], list[str]()
    for term in TERM.finditer(text):
        value = " ".join((term["phrase"] or term["word"] or "").split())
        if not value:
            continue
        if not term["field"] and _is_begun(value):
            begun.append(value.casefold())
            continue
        texts += begun  # something follows, so these are words: ``no Node: grad mode is off``
        begun.clear()
        if term["field"]:
            fields.append((term["field"].lower(), value))
        else:
            texts.append(value.casefold())
    return Query(tuple(texts), tuple(fields))


def _is_begun(value: str) -> bool:
    """Return whether it is a field whose value is still to come."""
    return value[-1] == ":" and value[:-1].lower() in FIELDS
