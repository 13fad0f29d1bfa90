"""The rows of statements and reasons. Those about the step come first, and the first row of each has its identifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import NamedTuple

from msgspec.structs import replace

from dispatchviz.core.record.events import SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.then_and_now.all_entries import REASONS, STATEMENTS
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Reason, Source, Verdict
from dispatchviz.explain.sentences.then_and_now.placing import Entry, Place, Placed, placed
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.views.text.line_fitting import wrap
from dispatchviz.views.text.styled_line import Line, line

LOOKS: dict[Verdict, tuple[str, str]] = {
    "still true": ("=", "good"),
    "true with a change": ("≈", "removed"),
    "no longer true": ("≠", "error"),
    "never came true": ("–", "error"),
    "never true": ("✗", "error"),
}
"""The sign and role of each verdict."""

TEXTS = (
    "2020    the dispatcher walkthrough in PyTorch's wiki",
    "later   its later version, on code generation and structured kernels, and the header of Node at that time",
    "forum   the forum question that examples/forum.py comes from",
)
"""The sources of the statements."""

HEADINGS = {
    Place.HERE: "At this step",
    Place.AROUND: "Around this step",
    Place.WITHIN: "Within this step",
    Place.ELSEWHERE: "Elsewhere in this run",
    Place.NOT_MET: "Not near this step",
}
"""The headings, by the place of the statements below them."""

ON_LINE = "On this line"
"""The heading for statements within the step of a program line."""

INDENT, GAP = 4, 3
"""The cells before a text, and between two texts side by side."""

NARROW = 66
"""The width below which the old and the new text are shown one below the other."""


def statement_rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of older statements beside the facts of today."""
    rows = _groups(trace, at, placed(trace, at, STATEMENTS), width, _statement)
    return [*rows, *(part for text in TEXTS for part in wrap(line((text, "dim"), indent=8), width))]


def reason_rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the reasons."""
    return list(_groups(trace, at, placed(trace, at, REASONS), width, _reason))


class Block(NamedTuple):
    """A statement or a reason as a block of the list, for code that lays out the list itself."""

    heading: str
    ident: str
    step: int | None
    """The step that shows it; if None, its last row names a program that does."""


def blocks_at(trace: Trace, at: int) -> tuple[list[Block], list[Block]]:
    """The statements at a step, and the reasons."""
    said, why = placed(trace, at, STATEMENTS), placed(trace, at, REASONS)
    return [_block(trace, at, each) for each in said], [_block(trace, at, each) for each in why]


def _block(trace: Trace, at: int, each: Placed[PastStatement] | Placed[Reason]) -> Block:
    return Block(_heading(trace, at, each.place), each.entry.ident, each.step)


def block_rows() -> dict[str, list[Line]]:
    """The paragraphs of each statement and reason as rows, by identifier."""
    said = {each.ident: _old_and_new(Placed(each, Place.NOT_MET, None)) for each in STATEMENTS}
    why = {each.ident: _reason(Placed(each, Place.NOT_MET, None), UNBROKEN) for each in REASONS}
    return {ident: [*map(_unbroken, rows)] for ident, rows in (*said.items(), *why.items())}


UNBROKEN = 1 << 20
"""A width larger than any text."""


def _unbroken(row: Line) -> Line:
    return replace(row, cut=False, indent=INDENT if row.plain.startswith(" " * INDENT) else 0)


def _old_and_new(each: Placed[PastStatement]) -> Iterator[Line]:
    """Yield the old text above the new one."""
    said = each.entry
    yield _verdict(each)
    yield from _indented(line((f"{said.version}: ", "dim"), said.statement), UNBROKEN)
    yield from _indented(line((f"{MINOR}: ", "dim"), said.today), UNBROKEN)
    yield from _where(said.source, said.shown_by, None, UNBROKEN)


def _groups(
    trace: Trace,
    at: int,
    found: Sequence[Placed[Entry]],
    width: int,
    rows: Callable[[Placed[Entry], int], Iterator[Line]],
) -> Iterator[Line]:
    for place, group in groupby(found, key=lambda each: each.place):
        yield line((_heading(trace, at, place), "title"), cut=True)
        for each in group:
            yield from rows(each, width)
            yield line()


def _heading(trace: Trace, at: int, place: Place) -> str:
    on_line = place is Place.WITHIN and isinstance(trace[at], SourceLine)
    return ON_LINE if on_line else HEADINGS[place]


def _statement(each: Placed[PastStatement], width: int) -> Iterator[Line]:
    said = each.entry
    yield _verdict(each)
    then, now = line((f"{said.version}: ", "dim"), said.statement), line((f"{MINOR}: ", "dim"), said.today)
    if width < NARROW:
        yield from (*_indented(then, width), *_indented(now, width))
    else:
        yield from _beside(then, now, width - INDENT)
    yield from _where(said.source, said.shown_by, each.step, width)


def _verdict(each: Placed[PastStatement]) -> Line:
    sign, role = LOOKS[each.entry.verdict]
    return _first_row(each, f"{sign} {each.entry.subject}", (f"  {each.entry.verdict}", role))


def _beside(then: Line, now: Line, width: int) -> Iterator[Line]:
    left = (width - GAP) * 9 // 20
    rows = zip_longest(wrap(then, left), wrap(now, width - GAP - left), fillvalue=Line())
    for before, after in rows:
        yield line(" " * INDENT, *before.spans, " " * (left - before.width + GAP), *after.spans, cut=True)


def _reason(each: Placed[Reason], width: int) -> Iterator[Line]:
    reason = each.entry
    yield _first_row(each, reason.question, ("", ""))
    yield from _indented(line(reason.answer), width)
    yield from _indented(line(("look at: ", "dim"), reason.look), width)
    yield from _where(reason.source, reason.shown_by, each.step, width)


def _first_row(each: Placed[Entry], title: str, verdict: tuple[str, str]) -> Line:
    step = "" if each.step is None else f"  step {each.step}"
    return line((title, "bold"), verdict, (step, "dim"), key=each.entry.ident, goto=each.step, cut=True)


def _where(source: Source, shown_by: str, step: int | None, width: int) -> Iterator[Line]:
    """Yield PyTorch's file with a name in it. If no step shows it, also name a program that does."""
    yield from _indented(line((f"in PyTorch: {source.file}, {source.name}", "dim")), width)
    if step is None:
        yield from _indented(line(("shown by: ", "dim"), (f"dispatchviz run {shown_by}", "name")), width)


def _indented(text: Line, width: int) -> Iterator[Line]:
    for row in wrap(text, max(width - INDENT, 1)):
        yield line(" " * INDENT, *row.spans, cut=True)


THEN_AND_NOW, WHY = "What older articles say about this step, and what is true today", "Why PyTorch works this way"
