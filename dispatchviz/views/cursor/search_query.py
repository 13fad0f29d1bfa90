"""A search query: words, "phrases" in quotes, and fields such as ``key:CUDA``. A step must match all of them.

A field is one of ``FIELDS`` followed by a colon. Any other text with a colon is a word, such as ``aten::add``.
"""

from __future__ import annotations

import re

from msgspec import Struct

FIELDS = ("key", "op", "node", "tensor", "line", "file", "event", "says")
"""The names of fields. ``says`` matches words of a step's sentence; the others are in ``search_fields.py``."""

TERM = re.compile(rf'(?:(?P<field>{"|".join(FIELDS)}):)?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))', re.IGNORECASE)

PLACE = re.compile(r":[0-9]+$")
"""The pattern of a word that is the place of a line: ``forum.py:6``."""


class Query(Struct, frozen=True):
    """A parsed query. Its terms are in lower case except for values of fields."""

    texts: tuple[str, ...] = ()
    """The words and phrases."""
    fields: tuple[tuple[str, str], ...] = ()
    """Pairs of a field's name and its value."""

    def __bool__(self) -> bool:
        return bool(self.texts or self.fields)

    def narrows(self, other: Query) -> bool:
        """Return whether every step that matches this query also matches another one."""
        if self.fields != other.fields or any(map(PLACE.search, self.texts)):
            return False  # the beginning of a place is a word, and words are not searched in places
        return all(any(text in each for each in self.texts) for text in other.texts)


def query_of(text: str) -> Query:
    """Parse a query. A field that is still being typed and an empty phrase are ignored."""
    texts, fields, begun = list[str](), [], list[str]()
    for term in TERM.finditer(text):
        value = " ".join((term["phrase"] or term["word"] or "").split())
        if not value:
            continue
        if not term["field"] and _is_begun(value):
            begun.append(value.casefold())
            continue
        texts += begun  # more text follows, so these are words: ``no Node: grad mode is off``
        begun.clear()
        if term["field"]:
            fields.append((term["field"].lower(), value))
        else:
            texts.append(value.casefold())
    return Query(tuple(texts), tuple(fields))


def _is_begun(value: str) -> bool:
    """Return whether a text is a field whose value is still missing."""
    return value[-1] == ":" and value[:-1].lower() in FIELDS
