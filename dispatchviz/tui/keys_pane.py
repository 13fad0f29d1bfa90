"""The key-set card: a row per key, highest first, a column per set, read from left to right; then the reasons."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.events import Dispatched
from dispatchviz.core.trace import Trace
from dispatchviz.explain.key_set import Column, KeySetCard, Row, key_set_card
from dispatchviz.tui.text import Line, Span, columns, line
from dispatchviz.tui.upcoming import not_yet

SIGNS: dict[str, Span] = {
    "lit": ("■", "lit"),
    "dark": ("·", "dark"),
    "masked": ("×", "removed"),
    "won": ("■", "winner"),
}
"""How the state of a key in a set is drawn."""

HEADS = {"included": "incl", "excluded": "excl", "effective": "left", "passed on": "left"}
"""Sets' names, short enough to stand over a column; the full ones stand below the table."""

LONGEST_HEAD = 9


def rows(trace: Trace, at: int) -> list[Line]:
    """The card, or at which step there will be one."""
    card = key_set_card(trace, at)
    return _card(card) if card else [not_yet(trace, at, Dispatched, "No key set here: this step is in no dispatch")]


def _card(card: KeySetCard) -> list[Line]:
    title = line((f"{card.how} ", "dim"), (card.operator, "bold"), (" → ", "dim"), (card.winner, "winner"))
    reasons = sorted(card.reasons, key=lambda reason: reason[0] != card.winner)
    return [
        title,
        *_table(card),
        *(_reason(name, text, name == card.winner) for name, text in reasons),
        line(("Raw sets:", "dim")),
        *(_raw(row) for row in card.rows[:-1]),
    ]


def _table(card: KeySetCard) -> list[Line]:
    """Heads and keys; the last row of the card, the winner, becomes a sign at the end of its key's row."""
    *sets, won = card.rows
    heads = [_head(row.title) for row in sets]
    names = columns([(column.name, "") for column in card.columns])
    margin = " " * (len(names[0][0]) + 2) if names else ""
    table = [line((margin + "  ".join(heads), "dim"), cut=True)]
    for at, (column, (name, _)) in enumerate(zip(card.columns, names, strict=True)):
        states = [row.cells[at] for row in sets]
        table.append(_key(column, f"{name}  ", heads, states, won.cells[at] == "won"))
    return table


def _key(column: Column, name: str, heads: Sequence[str], states: Sequence[str], wins: bool) -> Line:
    marks: list[Span] = []
    for head, state in zip(heads, states, strict=True):
        sign, role = SIGNS["won" if wins and state == "lit" else state]
        marks.append((f"{sign:<{len(head) + 2}}", role))
    role = "winner" if wins else "dim" if column.backend else "key" if "lit" in states[-1:] else "dark"
    *marks, (last, role_of_last) = marks
    wins_here = ("◀ wins" if wins and not column.backend else "", "winner")
    return line((name, role), *marks, (last.rstrip() + "  ", role_of_last), wins_here, key=name, cut=True)


def _head(title: str) -> str:
    """A set's name, short enough to stand over a column."""
    if title.startswith("received by "):
        return "received"
    if title.startswith("& "):
        return "mask"
    return HEADS.get(title, title.rpartition(" = ")[2][:LONGEST_HEAD])


def _reason(name: str, text: str, wins: bool) -> Line:
    return line((f"{name}: ", "winner" if wins else "key"), (text, ""), indent=2)


def _raw(row: Row) -> Line:
    return line((f"  {row.title}  ", "dim"), (f"{row.raw:#x}", ""), key=f"raw {row.title}", value=f"{row.raw:#x}")
