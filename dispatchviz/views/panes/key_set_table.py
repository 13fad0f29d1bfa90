"""The table of the key-set card, laid out to a width. The sets that decide and the sign of the selected key are always
visible, no matter how long the names of the arguments are and how many there are.

The row of the selected key comes first, then the other keys, highest first. Arguments with the same keys share a
column. If the table does not fit, columns move closer and long names lose their middles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dispatchviz.explain.calls.key_set_card import KeySetCard, Row, State
from dispatchviz.explain.trace_index.derived_names import BEFORE
from dispatchviz.views.text.line_fitting import shorter
from dispatchviz.views.text.styled_line import Line, Span, line

SIGNS: dict[str, Span] = {
    "lit": ("■", "lit"),
    "dark": ("·", "dark"),
    "masked": ("×", "removed"),
    "won": ("■", "winner"),
}
"""The sign for the state of a key in a set."""

HEADS = {"included": "incl", "excluded": "excl", "effective": "left", "passed on": "left"}
"""The short names of sets for the heads of columns; the full ones are below the table."""

LONGEST_HEAD = 9


class Layout(NamedTuple):
    """A layout of the table."""

    gap: int
    """The cells between columns."""
    wins: str
    """The text at the end of the selected key's row."""


LAYOUTS = (Layout(2, "◀ wins"), Layout(1, "◀ wins"), Layout(1, "◀"))
"""The layouts, best first."""


class _Set(NamedTuple):
    """A column of the table."""

    head: str
    cells: tuple[State, ...]


def table(card: KeySetCard, width: int) -> list[Line]:
    """The rows of the table: heads and keys."""
    names, sets = [column.name for column in card.columns], _sets(card)
    for layout in LAYOUTS:
        room = width - _width(sets, layout)
        if room >= max(map(len, names), default=0):
            break
    name_width = max(min(max(map(len, names), default=0), room), 1)
    margin = " " * (name_width + layout.gap)
    heads = (" " * layout.gap).join(each.head for each in sets)
    order = sorted(range(len(names)), key=lambda at: not _wins(card, at))
    return [line((margin + heads, "dim"), cut=True), *(_row(card, at, sets, layout, name_width) for at in order)]


def _wins(card: KeySetCard, at: int) -> bool:
    """Return whether a column is the one with the selected key."""
    return card.rows[-1].cells[at] == "won" and not card.columns[at].backend


def _width(sets: Sequence[_Set], layout: Layout) -> int:
    """The width of the table without the names of its keys, in cells."""
    return sum(len(each.head) + layout.gap for each in sets) + layout.gap + len(layout.wins)


def _sets(card: KeySetCard) -> list[_Set]:
    """The columns, without the last row of the card, which is the selected key."""
    arguments, rest = card.rows[: card.arguments], card.rows[card.arguments : -1]
    return [*_folded(arguments), *(_Set(_head(row.title), row.cells) for row in rest)]


def _folded(arguments: Sequence[Row]) -> Iterator[_Set]:
    """Yield one column for all arguments with the same keys."""
    groups: dict[tuple[State, ...], list[str]] = {}
    for row in arguments:
        groups.setdefault(row.cells, []).append(_argument(row))
    for cells, names in groups.items():
        listed = ", ".join(dict.fromkeys(names))
        yield _Set(listed if len(listed) <= LONGEST_HEAD else _many(names), cells)


def _argument(row: Row) -> str:
    """The argument's name for a column: an expression, or the tensor's number."""
    name = _name(row.title)
    return f"t{row.tensor}" if BEFORE in name and row.tensor is not None else name


def _many(names: Sequence[str]) -> str:
    return _head(names[0]) if len(names) == 1 else f"{len(names)} tensors"


def _row(card: KeySetCard, at: int, sets: Sequence[_Set], layout: Layout, name_width: int) -> Line:
    column, won = card.columns[at], card.rows[-1].cells[at] == "won"
    signs: list[Span] = []
    for each in sets:
        sign, role = SIGNS["won" if won and each.cells[at] == "lit" else each.cells[at]]
        signs.append((f"{sign:<{len(each.head) + layout.gap}}", role))
    role = "winner" if won else "dim" if column.backend else "key" if sets[-1].cells[at] == "lit" else "dark"
    name = f"{shorter(column.name, name_width):<{name_width}}{' ' * layout.gap}"
    *before, (last, role_of_last) = signs
    wins = _wins(card, at)
    end = (layout.wins if wins else "", "winner")
    last = last.rstrip() + " " * layout.gap
    return line((name, role), *before, (last, role_of_last), end, key=column.name, here=wins, cut=True)


def _name(title: str) -> str:
    """The name of an argument without its parameter."""
    return title.rpartition(" = ")[2]


def _head(title: str) -> str:
    """The short name of a set for the head of a column."""
    if title.startswith("received by "):
        return "received"
    if title.startswith("& "):
        return "mask"
    return HEADS.get(title, shorter(_name(title), LONGEST_HEAD))
