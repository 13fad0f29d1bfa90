"""The rows of the step list: lines of the program, iterations, calls and their contents as a tree, or hits as a list.

Elsewhere: the texts of a row (``explain/outline/row_texts.py``), rows over several lines (``wrapped_steps.py``), the
list that scrolls (``widgets/step_list.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

from dispatchviz.core.record.events import SourceLine
from dispatchviz.explain.kinds.all_kinds import group, label, sign
from dispatchviz.explain.outline.levels import ALL
from dispatchviz.explain.outline.line_rows import RowKind
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.outline.row_texts import Texts, heading, row_texts
from dispatchviz.explain.outline.visible_rows import Row
from dispatchviz.foundation.english import shortened
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.text.line_fitting import shorter
from dispatchviz.views.text.styled_line import Line, Span, line

HIDDEN: Span = ("?", "hint")
"""The text in place of an outcome that the reader must guess first (``predictions``)."""

WIDE = 64
"""The width from which on a level is indented by two cells instead of one, and outcomes are in a column."""

COLUMN = 48
"""The rightmost start of that column."""

GAP = "   "

SHORTEST = 12
"""The minimum width of the text of a row. The rest of its half is for the outcome."""


def step_row(cursor: Cursor, number: int, width: int, short: bool = False) -> Line:
    """A row of the list: its signs, its place in the tree, its text and its outcome. ``short`` leaves out some details
    of kernels.
    """
    parts = row_parts(cursor, number, width, short)
    text, role = parts.text
    if parts.facts and parts.may_halve:
        text = _half(text, parts.begin, width)
    return line(*parts.before, (text, role), *_happened(parts.facts, parts.begin + cell_len(text), width))


class RowParts(NamedTuple):
    """A row before it is fitted to a width."""

    before: list[Span]
    """The signs, the indentation, and everything else before the text."""
    text: Span
    facts: list[Span]
    """The outcome."""
    begin: int
    """The cell in which the text begins, without the number of the step."""
    may_halve: bool
    """True if a long text leaves half of the width to the outcome."""


def row_parts(cursor: Cursor, number: int, width: int, short: bool) -> RowParts:
    """The parts of a row of the list."""
    at, row = cursor.rows[number], cursor.row_at(number)
    hits = hits_in(cursor, row)
    signs: tuple[Span, ...] = (("▶", "focus") if at == cursor.at else _hit(hits), _mark(cursor, row))
    if cursor.tree is None:
        *found, label_of_step = _listed(cursor, at, width)
        return RowParts([*signs, *found], label_of_step, [], 0, False)
    number_of_step = (_step_number(cursor, at),) if cursor.tree.level == ALL else ()
    around = [*signs, *number_of_step, *_indent(cursor, row.depth, width)]
    if cursor.hides(at) and row.item >= 0:
        return RowParts([*around, ("  ", "")], HIDDEN, [], 0, False)
    (text, role), _ = _texts(cursor.tree, row.item)
    facts = _outcome(cursor, cursor.tree, row, _Extent(hits, short))
    before = _before_text(cursor, cursor.tree, row, at, role)
    begin = 2 + _level(width) * row.depth + sum(cell_len(part) for part, _ in before)
    shown = (text, "bold" if at == cursor.at else WEIGHT.get(role, ""))
    return RowParts([*around, *before], shown, facts, begin, facts != [HIDDEN] and not short and row.item < 0)


class _Extent(NamedTuple):
    """The additional contents of a row."""

    hits: int
    short: bool
    """True if details of kernels are left out."""


HIT = "*"
"""The sign of a hit of the search."""


def hits_in(cursor: Cursor, row: Row) -> int:
    """The number of search hits in a row, including those inside it if it is folded."""
    search, tree = cursor.search, cursor.tree
    if search is None or not search.query:
        return 0
    begin = row.item if tree is None else tree.begin(row.item)
    if tree is None or row.unfolded:
        return int(search.matches(begin))
    return search.between(begin, tree.end(row.item)) or int(search.matches(begin))


def _hit(hits: int) -> Span:
    return (HIT, "hit") if hits else (" ", "")


def _outcome(cursor: Cursor, tree: Outline, row: Row, extent: _Extent) -> list[Span]:
    """The outcome of a row, unless it must be guessed first. A folded row also shows its number of hits."""
    if cursor.hides(tree.end(row.item)):
        return [HIDDEN]
    _, found = _texts(tree, row.item)
    happened = [each for each in found if not extent.short or each[1] != "dim"]
    if extent.hits and not row.unfolded and tree.has_children(row.item):
        return [(f"{extent.hits:,} {'hit' if extent.hits == 1 else 'hits'}", "hit"), *happened]
    return happened


def _before_text(cursor: Cursor, tree: Outline, row: Row, at: int, role: str) -> list[Span]:
    """The spans before the text: the fold sign, the iterations that begin here, the line number, the event's sign."""
    fold = "▾ " if row.unfolded else "▸ " if tree.has_children(row.item) else "  "
    heads = [(f"{heading(tree, item)} · ", "dim") for item in _merged(tree, row)]
    number = f"{_line_number(cursor, at):>2}  " if tree.kind(row.item) is RowKind.STATEMENT else ""
    mark = f"{sign(cursor.trace[at])} " if row.item >= 0 else ""
    return [(fold, "dim"), *heads, (number, "dim"), (mark, role)]


def _half(text: str, begin: int, width: int) -> str:
    """Shorten a line of the program, so that half of the width is left for the outcome."""
    blanks = text[: len(text) - len(text.lstrip())]
    return blanks + shortened(text, max(width // 2 - begin - len(blanks), SHORTEST))


def _happened(happened: list[Span], used: int, width: int) -> list[Span]:
    """The outcome of a row after its text, in a column if there is room."""
    if not happened:
        return []
    blanks = (" " * max(outcome_column(width) - used, len(GAP)), "")
    return [blanks, *(span for fact in happened for span in (fact, (GAP, "")))]


def outcome_column(width: int) -> int:
    """The cell in which the outcomes begin; 0 in a narrow list, where each follows its text."""
    return min(width * 2 // 5, COLUMN) if width >= WIDE else 0


def _merged(tree: Outline, row: Row) -> list[int]:
    """The unfolded iterations and calls whose first row this is."""
    same = tree.at(tree.begin(row.item))
    return list(same[: same.index(row.item)]) if row.item in same else []


def _line_number(cursor: Cursor, at: int) -> str:
    event = cursor.trace[at]
    return str(event.line) if isinstance(event, SourceLine) else "?"


@lru_cache(maxsize=2048)
def _texts(tree: Outline, item: int) -> Texts:
    return row_texts(tree, item)


def _listed(cursor: Cursor, at: int, width: int) -> list[Span]:
    """The spans of a filter's hit: its number, its depth and its label."""
    if cursor.hides(at):
        return [_step_number(cursor, at), HIDDEN]
    event, here = cursor.trace[at], at == cursor.at
    role = group(event)
    return [
        _step_number(cursor, at),
        *_indent(cursor, cursor.trace.depths[at], width),
        (f"{sign(event)} ", role),
        (label(cursor.trace, at), "bold" if here else WEIGHT.get(role, "")),
    ]


def _step_number(cursor: Cursor, at: int) -> Span:
    return f"{at:>{len(str(cursor.last_step))}} ", "" if at == cursor.at else "dim"


def _mark(cursor: Cursor, row: Row) -> Span:
    """The sign of a mark within a row, or of a breakpoint that stops there."""
    tree = cursor.tree
    begin = row.item if tree is None else tree.begin(row.item)
    end = begin if tree is None or row.unfolded else tree.end(row.item)
    marked = any(begin <= step <= end for step in cursor.marks)
    seen = end if cursor.ahead is None else min(end, cursor.ahead.asked)
    stops = not marked and any(each.stops_between(cursor.trace, begin, seen) for each in cursor.breakpoints)
    return ("●", "warning") if marked else ("◉", "error") if stops else (" ", "")


WEIGHT = {"program": "bold", "error": "error"}
"""The roles of an event's label, by its group."""


def _indent(cursor: Cursor, depth: int, width: int) -> tuple[Span, Span]:
    """The indentation for a depth. In a narrow list, levels far above the cursor are cut off."""
    cut = cells_cut(cursor, width)
    left = depth * _level(width) - cut
    return ("‹" if cut else "", "dim"), (" " * (left - bool(cut)), "")


def cells_cut(cursor: Cursor, width: int) -> int:
    """The number of cells of indentation that are cut off."""
    return max(0, cursor.row.depth * _level(width) - width // 3)


def _level(width: int) -> int:
    return 2 if width >= WIDE else 1


LONGEST = 24
"""The maximum width of a query in the title, in cells."""


def steps_title(cursor: Cursor) -> str:
    """The title of the list: ``Steps · /key:CUDA: hit 3/17``."""
    return " · ".join(("Steps", *_search(cursor)))


def _search(cursor: Cursor) -> Iterator[str]:
    search = cursor.search
    if search is None or not search.query.strip():
        return
    number, count = search.position(cursor.at)
    hit = f"hit {number:,}/{count:,}" if search.matches(cursor.at) else f"{count:,} {'hit' if count == 1 else 'hits'}"
    searched = "" if search.complete else f" so far ({search.percent} %)"
    yield f"/{shorter(search.query.strip(), LONGEST)}: {hit}{searched}"
