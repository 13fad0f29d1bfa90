"""``table OP`` as text: folded to what a reader takes in at once, or cell by cell."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.explain.cells.computed_table import (
    HERE,
    MISSING,
    PYTORCH,
    RAISES,
    SKIPPED,
    Fold,
    Row,
    TableCard,
    folded,
)
from dispatchviz.explain.cells.key_groups import said_keys
from dispatchviz.render.plain import Paper

SIGNS = {
    HERE: ("●", "green", "dispatchviz runs it"),
    PYTORCH: ("○", "", "only PyTorch has the kernel"),
    SKIPPED: ("↷", "cyan", "fallthrough: calls skip it"),
    RAISES: ("!", "red", "the kernel only raises"),
    MISSING: ("✗", "red", "no kernel: calls fail"),
}
"""Of each state: its sign, its colour, what it means."""

WIDE = 110
"""From this width on a cell has one line."""


def table_lines(card: TableCard, everything: bool, paper: Paper) -> Iterator[str]:
    """Header, cells, the empty ones in a sentence, signs. ``everything``: no folding, empty cells in their places."""
    yield from _header(card, paper)
    yield ""
    if everything:
        yield from _cells([Fold(str(row.cell), row.key, row) for row in card.rows], paper)
    else:
        yield from _cells(list(folded(row for row in card.rows if row.reason != FALLBACK)), paper)
        yield from _rest(card, paper)
    yield ""
    yield from paper.wrapped(_legend({row.state for row in card.rows}), 0, 0)


def _rest(card: TableCard, paper: Paper) -> Iterator[str]:
    """What most operators have alike, in a sentence each."""
    fallbacks = [row for row in card.rows if row.reason == FALLBACK]
    groups = (
        ("↷", "cyan", "skipped, the keys' own fallbacks", [row for row in fallbacks if row.state == SKIPPED]),
        ("○", "", "the keys' own fallbacks", [row for row in fallbacks if row.state == PYTORCH]),
        ("●", "green", "the keys' own fallbacks", [row for row in fallbacks if row.state == HERE]),
        ("✗", "red", "empty", [row for row in card.rows if row.state == MISSING]),
    )
    for sign, colour, words, rows in groups:
        if rows:
            keys = said_keys([DispatchKey[row.key] for row in rows])
            lines = paper.wrapped(f"{sign} {len(rows)} {words}: {keys}", 0, 2)
            yield paper.styled(sign, *([colour] if colour else [])) + lines[0].removeprefix(sign)
            yield from lines[1:]


def _header(card: TableCard, paper: Paper) -> Iterator[str]:
    yield paper.heading(card.operator) + f"  (build {card.build})"
    yield from paper.wrapped(card.schema, 2, 6)
    yield from paper.wrapped(f"defined: {card.defined}", 2, 6)
    valid = f"{card.valid} of 137 cells hold a kernel"
    yield from paper.wrapped(f"{valid}; mask of its calls {card.mask:#x}", 2, 6)


def _cells(folds: list[Fold], paper: Paper) -> Iterator[str]:
    cells = max((len(fold.cells) for fold in folds), default=0)
    keys = min(max((len(fold.keys) for fold in folds), default=0), 32)
    reasons = max((len(fold.row.reason) for fold in folds), default=0)
    for fold in folds:
        sign, colour, _ = SIGNS[fold.row.state]
        first = f"{fold.cells:>{cells}} {paper.styled(sign, colour) if colour else sign} {fold.keys:<{keys}}"
        first += f"  {fold.row.reason:<{reasons}}"
        if paper.width >= WIDE and len(fold.keys) <= keys:
            yield f"{first}  {_kernel(fold.row, paper)}".rstrip()
        else:
            yield first.rstrip()
            yield from (f"{'':{cells}}   {line}" for line in _lines(fold.row, cells + 3, paper))


def _kernel(row: Row, paper: Paper) -> str:
    """``VariableType::add_Tensor  VariableType_2.cpp:10455``"""
    return f"{row.kernel}  {paper.styled(_place(row), 'dim')}"


def _place(row: Row) -> str:
    return row.registered.removeprefix("registered at ").rpartition("/")[2]


def _lines(row: Row, indent: int, paper: Paper) -> list[str]:
    """The same on two lines where one is too narrow."""
    if not row.kernel:
        return []
    if indent + len(row.kernel) + 2 + len(_place(row)) <= paper.width:
        return [_kernel(row, paper)]
    return [row.kernel, paper.styled(_place(row), "dim")]


def _legend(states: set[str]) -> str:
    used = [f"{sign} {words}" for state, (sign, _, words) in SIGNS.items() if state in states]
    return "   ".join(used)
