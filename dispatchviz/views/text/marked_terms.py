"""The terms of the glossary in the lines of a screen: the first use of each is marked, so that readers look it up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec.structs import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.glossary import uses
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.views.text.styled_line import Line, Span

TERM_ROLES = {"bold": "term", "": "term.plain", "dim": "term.dim"}
"""Roles of prose, each with that of a term in it."""


def with_terms(trace: Trace, row: Line) -> Line:
    """A row with all its terms marked: a page says what each means, and shows the mark of the first."""
    return _marked(trace, row, None)


def with_first_terms(trace: Trace, rows: Iterable[Line], seen: set[str]) -> list[Line]:
    """Rows with the first use of each term marked; ``seen`` has those of the rows before."""
    return [_marked(trace, row, seen) for row in rows]


def _marked(trace: Trace, row: Line, seen: set[str] | None) -> Line:
    pairs = zip(row.spans, (("", ""), *row.spans), strict=False)
    spans = tuple(
        chain.from_iterable([span] if _is_label(span, before) else _parts(trace, span, seen) for span, before in pairs)
    )
    return row if spans == row.spans else replace(row, spans=spans)


def _is_label(span: Span, before: Span) -> bool:
    """Whether a span is the one word behind a key of the keyboard: ``? keys``."""
    return before[1] == "keycap" and len(span[0].split()) == 1


def _parts(trace: Trace, span: Span, seen: set[str] | None) -> Iterator[Span]:
    """A span cut where its terms begin and end; a word that is a variable of the program is none."""
    text, role = span
    at, marked = 0, TERM_ROLES.get(role, "")
    for use in uses(text) if marked else ():
        word, term = text[use.begin : use.end], use.term.name
        if (seen is not None and term in seen) or index(trace).holders.get(word) is not None:
            continue
        if seen is not None:
            seen.add(term)
        if at < use.begin:
            yield text[at : use.begin], role
        yield word, marked
        at = use.end
    if at < len(text):
        yield text[at:], role
