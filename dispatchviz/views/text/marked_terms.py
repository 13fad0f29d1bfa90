"""The terms of the glossary in the lines of a screen. The first use of each is marked, so that readers can look it up.

Rows are marked as they are on the screen: a term may begin in one row and end in the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.glossary import Use, uses
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.views.text.styled_line import Line, Span

TERM_ROLES = {"bold": "term", "": "term.plain", "dim": "term.dim"}
"""The roles of prose, each with the role of a term in it."""

HIDDEN = "\0"
"""The replacement for each character that is not prose."""


def with_terms(trace: Trace, row: Line) -> Line:
    """The row with all terms marked. A page explains each one and shows the mark of the first."""
    return _marked([row], _terms(trace, [row]))[0]


def with_first_terms(trace: Trace, rows: Sequence[Line]) -> list[Line]:
    """The rows of a screen with the first use of each term marked."""
    firsts = {use.term.name: use for use in reversed(_terms(trace, rows))}
    return _marked(rows, sorted(firsts.values(), key=lambda use: use.begin))


def _terms(trace: Trace, rows: Sequence[Line]) -> list[Use]:
    """The terms in the text of all rows, in order. A word that is a variable of the program is not a term."""
    text, known = " ".join(_prose(row).strip() for row in rows), index(trace).holders
    return [use for use in uses(text) if known.get(text[use.begin : use.end]) is None]


def _prose(row: Line) -> str:
    """The text of a row with other characters than prose hidden; its length is unchanged."""
    pairs = zip(row.spans, (("", ""), *row.spans), strict=False)
    return "".join(
        text if role in TERM_ROLES and not _is_label(text, before) else HIDDEN * len(text)
        for (text, role), before in pairs
    )


def _is_label(text: str, before: Span) -> bool:
    """Return whether a text is a single word after a key of the keyboard: ``? keys``."""
    return before[1] == "keycap" and len(text.split()) == 1


def _marked(rows: Sequence[Line], terms: Sequence[Use]) -> list[Line]:
    """The rows with some terms marked."""
    found, begin = [], 0
    for row in rows:
        prose = _prose(row)
        at = begin - (len(prose) - len(prose.lstrip()))
        spans = tuple(_cut(row.spans, at, terms)) if terms else row.spans
        found.append(row if spans == row.spans else replace(row, spans=spans))
        begin += len(prose.strip()) + 1
    return found


def _cut(spans: Sequence[Span], at: int, terms: Sequence[Use]) -> Iterator[Span]:
    """Yield spans cut where terms begin and end. The first span begins at place ``at`` of the whole text."""
    for text, role in spans:
        begin, end = at, at + len(text)
        for use in terms:
            first, last = max(use.begin, at), min(use.end, end)
            if first < last and role in TERM_ROLES:
                yield from ([(text[at - begin : first - begin], role)] if at < first else [])
                yield text[first - begin : last - begin], TERM_ROLES[role]
                at = last
        if at < end:
            yield text[at - begin :], role
        at = end
