"""The key-set card: a row per key, highest first, a column per set, read from left to right; then the reasons."""

from __future__ import annotations

from dispatchviz.core.record.events import Dispatched
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_card import KeySetCard, Row, key_set_card
from dispatchviz.tui.panes.key_set_table import table
from dispatchviz.tui.panes.next_event import not_yet
from dispatchviz.tui.text.styled_line import Line, line


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The card, or at which step there will be one."""
    card = key_set_card(trace, at)
    if card is None:
        return [not_yet(trace, at, Dispatched, "No key set here: this step is in no dispatch")]
    return _card(card, width)


def _card(card: KeySetCard, width: int) -> list[Line]:
    title = line((f"{card.how} ", "dim"), (card.operator, "bold"), (" → ", "dim"), (card.winner, "winner"))
    reasons = sorted(card.reasons, key=lambda reason: reason[0] != card.winner)
    return [
        title,
        *table(card, width),
        *(_reason(name, text, name == card.winner) for name, text in reasons),
        line(("Raw sets:", "dim")),
        *(_raw(row) for row in card.rows[:-1]),
    ]


def _reason(name: str, text: str, wins: bool) -> Line:
    return line((f"{name}: ", "winner" if wins else "key"), (text, ""), indent=2)


def _raw(row: Row) -> Line:
    return line((f"  {row.title}  ", "dim"), (f"{row.raw:#x}", ""), key=f"raw {row.title}", value=f"{row.raw:#x}")
