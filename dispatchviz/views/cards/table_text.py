"""The text of ``table OP``, either folded for a quick overview or entry by entry."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.explain.cells.computed_table import (
    HERE,
    MISSING,
    MODEL_KEYS,
    PYTORCH,
    RAISES,
    SKIPPED,
    Fold,
    Grouping,
    Row,
    TableCard,
    folded,
)
from dispatchviz.explain.codegen.generated_files import placed
from dispatchviz.foundation.pytorch_release import RELEASE
from dispatchviz.views.text.console import Console

SIGNS = {
    HERE: ("●", "green", "dispatchviz runs it"),
    PYTORCH: ("○", "", "only PyTorch has the kernel"),
    SKIPPED: ("↷", "cyan", "fallthrough: calls skip it"),
    RAISES: ("!", "red", "the kernel only raises"),
    MISSING: ("✗", "red", "no kernel: calls fail"),
}
"""The sign, color and meaning of each state."""

WIDE = 110
"""The width from which on an entry takes one line."""


def table_lines(card: TableCard, everything: bool, console: Console, grouping: Grouping = MODEL_KEYS) -> Iterator[str]:
    """Yield the header, the entries, a sentence about empty ones, and the signs. If ``everything`` is true, nothing is
    folded and empty entries are listed in order. ``grouping`` has the keys of the card's release.
    """
    yield from _header(card, console)
    yield ""
    if everything:
        yield from _cells([Fold(str(row.cell), row.key, row) for row in card.rows], console)
    else:
        yield from _cells(list(folded((row for row in card.rows if row.reason != FALLBACK), grouping)), console)
        yield from _rest(card, console, grouping)
    yield ""
    yield from console.wrapped(_legend({row.state for row in card.rows}, card.release), 0, 0)


def _rest(card: TableCard, console: Console, grouping: Grouping) -> Iterator[str]:
    """Yield one sentence for each group of entries that most operators share."""
    fallbacks = [row for row in card.rows if row.reason == FALLBACK]
    groups = (
        ("↷", "cyan", "skipped, the keys' own fallbacks", [row for row in fallbacks if row.state == SKIPPED]),
        ("○", "", "the keys' own fallbacks", [row for row in fallbacks if row.state == PYTORCH]),
        ("●", "green", "the keys' own fallbacks", [row for row in fallbacks if row.state == HERE]),
        ("✗", "red", "empty", [row for row in card.rows if row.state == MISSING]),
    )
    for sign, color, label, rows in groups:
        if rows:
            keys = grouping.text([row.key for row in rows])
            lines = console.wrapped(f"{sign} {len(rows)} {label}: {keys}", 0, 2)
            yield console.styled(sign, *([color] if color else [])) + lines[0].removeprefix(sign)
            yield from lines[1:]


def _header(card: TableCard, console: Console) -> Iterator[str]:
    release = "" if card.release == RELEASE else f"PyTorch {card.release}, "
    yield console.heading(card.operator) + f"  ({release}build {card.build})"
    yield from console.wrapped(card.schema, 2, 6)
    yield from console.wrapped(f"defined: {card.defined}", 2, 6)
    valid = f"{card.valid} of {card.entries} entries hold a kernel"
    yield from console.wrapped(f"{valid}; the mask of its calls is {card.mask:#x}", 2, 6)


def _cells(folds: list[Fold], console: Console) -> Iterator[str]:
    cells = max((len(fold.cells) for fold in folds), default=0)
    keys = min(max((len(fold.keys) for fold in folds), default=0), 32)
    reasons = max((len(fold.row.reason) for fold in folds), default=0)
    for fold in folds:
        sign, color, _ = SIGNS[fold.row.state]
        first = f"{fold.cells:>{cells}} {console.styled(sign, color) if color else sign} {fold.keys:<{keys}}"
        first += f"  {fold.row.reason:<{reasons}}"
        if console.width >= WIDE and len(fold.keys) <= keys:
            yield f"{first}  {_kernel(fold.row, console)}".rstrip()
        else:
            yield first.rstrip()
            yield from (f"{'':{cells}}   {line}" for line in _lines(fold.row, cells + 3, console))


def _kernel(row: Row, console: Console) -> str:
    """``VariableType::add_Tensor  VariableType_2.cpp:10455``"""
    return f"{row.kernel}  {console.styled(_place(row), 'dim')}"


def _place(row: Row) -> str:
    return placed(row.registered).rpartition("/")[2]


def _lines(row: Row, indent: int, console: Console) -> list[str]:
    """The kernel and its place, on two lines if one is too narrow."""
    if not row.kernel:
        return []
    if indent + len(row.kernel) + 2 + len(_place(row)) <= console.width:
        return [_kernel(row, console)]
    return [row.kernel, console.styled(_place(row), "dim")]


def _legend(states: set[str], release: str) -> str:
    meanings = {state: meaning for state, (_, _, meaning) in SIGNS.items()}
    if release != RELEASE:
        meanings[PYTORCH] = "a kernel"
    return "   ".join(f"{SIGNS[state][0]} {meaning}" for state, meaning in meanings.items() if state in states)
