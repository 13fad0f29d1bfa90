"""The glossary as rows: the terms that a step's sentence and rule use, then the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label, rule, why_here
from dispatchviz.explain.sentences.glossary import TERMS, Term, terms_in
from dispatchviz.views.text.styled_line import Line, line


def glossary_rows(trace: Trace, at: int) -> list[Line]:
    """The rows of all terms, those of the step first."""
    here = terms_in(f"{label(trace, at)} {why_here(trace, at)} {rule(trace[at]).text}")
    others = [term for term in TERMS if term not in here]
    return [*_part("On this screen", here), *_part("Other terms", others)]


def _part(title: str, terms: Iterable[Term]) -> Iterator[Line]:
    rows = [row for term in terms for row in _rows(term)]
    if rows:
        yield line((title, "title"))
        yield from rows
        yield line()


def _rows(term: Term) -> Iterator[Line]:
    yield line((f"{term.name}  ", "bold"), term.meaning, indent=2)
    yield line(("  " + term.file, "dim"), indent=2)
